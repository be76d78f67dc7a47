// SPDX-License-Identifier: Apache-2.0
#include "frontend/state.h"

#include "frontend/trace.h"
#include "ir/called.h"
#include "ir/mutant.h"

namespace graphc::core {

State::State(Value initial, std::string name, Where where) : cell_(std::make_shared<StateCell>()) {
  initial.expect_usable(where);
  cell_->name = std::move(name);
  cell_->type = initial.type();
  cell_->where = where;
  Trace::require("a state", where).add_register(cell_, initial);
}

State::State(const State& other) : cell_(other.cell_) {
  if (const Copied* copied = other.copied()) {
    *copied_ = *copied;
  } else if (const Trace* trace = Trace::current()) {
    *copied_ = {Value(other), trace->id()};
  }
}

State::State(State&& other) noexcept
    : cell_(other.cell_),
      copied_(other.copied_ ? other.copied_ : other.moved_away_.lock()),
      given_to_(std::exchange(other.given_to_, {})) {
  if (is_copy()) return;
  if (!copied_) copied_ = std::make_shared<Copied>();  // a second move; the first target died
  other.copied_.reset();
  other.moved_away_ = copied_;
}

State::~State() {
  if (given_to_.empty() || is_copy()) return;
  if (Trace* trace = Trace::current()) trace->note_dropped(cell_, given_to_);
}

const State::Copied* State::copied() const {
  return copied_ && copied_->value ? copied_.get() : nullptr;
}

State::operator Value() const {
  if (const Copied* copied = this->copied()) {
    const Trace& trace = Trace::require("a copy of a state", cell_->where);
    if (trace.id() == copied->trace) return copied->value;
    throw input_error(cell_->where, "a copy of state '{}' is used in another graph than its own",
                      cell_->name);
  }
  return Trace::require("a state", cell_->where).read(cell_, cell_->where);
}

State& State::operator=(Operand value) {
  const Where where = Called::place(value.where());  // the caller of a layer or an optimizer
  if (is_copy()) {
    throw input_error(
        where,
        "this is a copy of state '{}', which is its value and cannot be assigned: take "
        "the state as State&, or another handle to it by handle()",
        cell_->name);
  }
  Trace& trace = Trace::require("a state", where);
  given_to_.clear();
  if (!copied_) copied_ = std::make_shared<Copied>();
  if (const auto moved = moved_away_.lock(); moved && !mutated(Mutant::moved_from_not_noticed)) {
    *moved = {Value(*this), trace.id()};
    moved_away_.reset();
  }
  if (value.is_number()) {
    const Called called("state", where);  // the type may not be able to represent the number
    trace.assign(cell_, splat(trace.graph(), value.number(), cell_->type), where);
  } else {
    value.value().expect_usable(where);
    trace.assign(cell_, value.value(), where);
  }
  return *this;
}

State& State::change(const Op& op, Operand value) {
  const Operand before(Value(*this), value.where());
  return *this = Operand(apply1(op, {before, value}, {}, value.where()), value.where());
}

State& State::operator=(State&& other) {
  *this = static_cast<const State&>(other);
  if (cell_ != other.cell_) other.given_to_ = cell_->name;
  return *this;
}

State& State::operator=(const State& other) {
  if (cell_ == other.cell_ && !other.is_copy()) return *this;
  return *this = Operand(Value(other), other.cell_->where);
}

}  // namespace graphc::core

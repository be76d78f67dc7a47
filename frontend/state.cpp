// SPDX-License-Identifier: Apache-2.0
#include "frontend/state.h"

#include "frontend/trace.h"

namespace graphc {

State::State(Value initial, std::string name, Where where) : cell_(std::make_shared<StateCell>()) {
  cell_->name = std::move(name);
  cell_->type = initial.type();
  cell_->where = where;
  Trace::require("a state", where).add_register(cell_, initial);
}

State::State(const State& other)
    : cell_(other.cell_), copied_(other.copied_), copied_in_(other.copied_in_) {
  const Trace* trace = Trace::current();
  if (copied_ || trace == nullptr) return;
  copied_ = Value(other);
  copied_in_ = trace->id();
}

State::operator Value() const {
  if (copied_) {
    const Trace& trace = Trace::require("a copy of a state", cell_->where);
    if (trace.id() == copied_in_) return copied_;
    throw input_error(cell_->where, "a copy of state '{}' is used in another graph than its own",
                      cell_->name);
  }
  return Trace::require("a state", cell_->where).read(cell_, cell_->where);
}

State& State::operator=(Operand value) {
  if (copied_) {
    throw input_error(
        value.where(),
        "this is a copy of state '{}', which is its value and cannot be assigned: take "
        "the state as State&, or another handle to it by handle()",
        cell_->name);
  }
  Trace& trace = Trace::require("a state", value.where());
  if (value.is_number()) {
    trace.assign(cell_, splat(trace.graph(), value.number(), cell_->type), value.where());
  } else {
    trace.assign(cell_, value.value(), value.where());
  }
  return *this;
}

State& State::change(const Op& op, Operand value) {
  const Operand before(Value(*this), value.where());
  return *this = Operand(apply1(op, {before, value}, {}, value.where()), value.where());
}

State& State::operator=(const State& other) {
  if (cell_ == other.cell_ && !other.copied_) return *this;
  return *this = Operand(Value(other), other.cell_->where);
}

}  // namespace graphc

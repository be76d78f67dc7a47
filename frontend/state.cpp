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

State::operator Value() const {
  return Trace::require("a state", cell_->where).read(cell_, cell_->where);
}

State& State::operator=(Operand value) {
  Trace& trace = Trace::require("a state", value.where());
  if (value.is_number()) {
    trace.assign(cell_, splat(trace.graph(), value.number(), cell_->type), value.where());
  } else {
    trace.assign(cell_, value.value(), value.where());
  }
  return *this;
}

State& State::operator=(const State& other) {
  if (cell_ == other.cell_) return *this;
  return *this = Operand(Value(other), other.cell_->where);
}

}  // namespace graphc

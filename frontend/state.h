// SPDX-License-Identifier: Apache-2.0
// State: a value that is assigned. Parameters, optimizer slots, carried activations, counters.
//
// A state reads as a value wherever a value is wanted, and `h = tanh(...)` gives it its next value.
// Assigned inside the body of a scan it is a carry of that loop; assigned outside it is a register
// of the step, written when the graph has run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/build.h"

namespace graphc::core {

/// The first value of a state: a graph from a key (i64[], another for each state) to a value of the
/// type. Equal seeds give equal values on every target. One of your own is a function of that kind,
/// for which `auto` says the type: `[](Value key, const auto& type) { return filled(type.shape, 2);
/// }`
using Initializer = std::function<Value(Value key, const Type& type)>;

/// What is known about a state; shared by all handles to it.
struct StateCell {
  std::string name;
  Type type;
  Initializer initializer;  ///< of a state of the model
  Where where;              ///< where it was declared
  bool of_model = false;    ///< else a register of one trace
  bool parameter = false;
  bool transient = false;          ///< only files of everything have it: Saving of session.h
  bool kept_by_optimizer = false;  ///< a slot or a counter: declared anew by every graph
  int64_t model = 0;               ///< Model::id() of its model; 0: of every model that uses it
  std::string model_name = {};
  std::string graph = {};  ///< the graph that declared it when it was traced, if one did
  int order = 0;           ///< among the states of the model: that of declaration
  int64_t trace = 0;       ///< the trace a register was made in
  std::string owner = {};  ///< of what an optimizer keeps: the optimizer, and whom it counts for
};

/// A handle to a state. Assigning gives the state a value; it never makes the handle another state.
///
/// While a graph is being traced a copy is the value at that point, as a copy of a number is:
/// `auto before = h;` keeps what h was, whatever h is assigned later. A copy cannot be assigned:
/// who wants to change a state takes `State&`, or another handle from `h.handle()`. Outside of a
/// trace there is no value: a copy is a handle to the same state.
///
/// What was moved from goes on being a handle, and so is what it was moved to: as when a vector of
/// states grows. If the former is assigned, the latter is a copy from there on, of the value
/// before: so std::swap(h, c), std::exchange and std::rotate exchange values. Algorithms that drop
/// elements of a list of states, as erase(), assign values too; the trace remarks on a state whose
/// handle is dropped so.
class State {
 public:
  /// A register of the graph being traced that starts as `initial`. It is no state of the model:
  /// `State h(filled({batch, hidden}, 0))` starts from zero in every run.
  explicit State(Value initial, std::string name = "state", Where where = Where::here());
  explicit State(std::shared_ptr<StateCell> cell) : cell_(std::move(cell)) {}
  State(const State& other);
  State(State&& other) noexcept;
  ~State();

  /// The value it has at this point of the graph being traced. Throws ErrorKind::input when no
  /// graph is being traced, or not the one the state belongs to.
  operator Value() const;

  /// Gives it a value of its type, or a number for every element. Throws ErrorKind::input, at the
  /// line of the value, when the types differ or a parameter is assigned inside a scan.
  State& operator=(Operand value);
  State& operator=(const State& other);
  State& operator=(State&& other);
  State& operator+=(Operand value) { return change(ops::add, value); }
  State& operator-=(Operand value) { return change(ops::sub, value); }
  State& operator*=(Operand value) { return change(ops::mul, value); }
  State& operator/=(Operand value) { return change(ops::div, value); }

  /// Another handle to the same state.
  State handle() const { return State(cell_); }
  /// Whether it is a value and no handle: it was copied while a graph was being traced, or what it
  /// was moved from has been assigned since.
  bool is_copy() const { return copied() != nullptr; }

  const std::string& name() const { return cell_->name; }
  const Type& type() const { return cell_->type; }
  const Shape& shape() const { return cell_->type.shape; }
  const std::shared_ptr<StateCell>& cell() const { return cell_; }

 private:
  /// A value that a state had, and the trace of that; none yet of a handle.
  struct Copied {
    Value value;
    int64_t trace = 0;
  };

  State& change(const Op& op, Operand value);
  /// Of a copy: what it is a copy of; else null.
  const Copied* copied() const;

  std::shared_ptr<StateCell> cell_;
  /// What it is a copy of: set when it is made, or when what it was moved from is assigned.
  std::shared_ptr<Copied> copied_ = std::make_shared<Copied>();
  std::weak_ptr<Copied> moved_away_;  ///< of what was moved from: that of who was moved to
  std::string given_to_;  ///< the state that took its value by a move, until it is assigned itself
};

/// A parameter: a state of the model that training changes. It is no carry: inside a scan it is the
/// value it had outside. Copies are handles to the same parameter, at any time. A list of
/// parameters is a Params (frontend/params.h), of which elements can be left out.
class Param : public State {
 public:
  using State::State;
  using State::operator=;
  Param(const Param& other) : State(other.cell()) {}
  /// `p = q` could mean that p is to be another parameter, or to have the value of q. The value:
  /// `p = Value(q)`. Another parameter: a new Param, or a pointer to one.
  Param& operator=(const Param&) = delete;
};

}  // namespace graphc::core

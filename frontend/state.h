// SPDX-License-Identifier: Apache-2.0
// State: a value that is assigned. Parameters, optimizer slots, carried activations, counters.
//
// A state reads as a value wherever a value is wanted; `h = tanh(...)` assigns its next value.
// Assigned inside the body of a scan, it is a carry of that loop; assigned outside, it is a
// register that is written after the graph has run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/build.h"

namespace graphc::core {

/// The first value of a state: a graph from a key (i64[], distinct per state) to a value of the
/// type. Equal seeds give equal values on every target. Users can write their own, with `auto` for
/// the type: `[](Value key, const auto& type) { return filled(type.shape, 2); }`
using Initializer = std::function<Value(Value key, const Type& type)>;

/// The properties of a state; shared by all its handles.
struct StateCell {
  std::string name;
  Type type;
  Initializer initializer;  ///< for a state of the model
  Where where;              ///< the line of its declaration
  bool of_model = false;    ///< otherwise a register of one trace
  bool parameter = false;
  bool transient = false;          ///< only files with every state have it: Saving in session.h
  bool kept_by_optimizer = false;  ///< a slot or a counter: declared again by every graph
  int64_t model = 0;               ///< Model::id() of its model; 0: shared by all models
  std::string model_name = {};
  std::string graph = {};  ///< the graph whose trace declared it, if any
  int order = 0;           ///< its place in the model's order of declaration
  int64_t trace = 0;       ///< the trace that made a register
  std::string owner = {};  ///< for optimizer states: the optimizer and its parameter
};

/// A handle to a state. Assignment gives the state a value; it never rebinds the handle.
///
/// During a trace a copy is the value at that point, like a copy of a number: `auto before = h;`
/// keeps the value of h across later assignments. A copy cannot be assigned: to change a state,
/// take `State&` or another handle from `h.handle()`. Outside a trace there is no value, and a copy
/// is a handle to the same state.
///
/// After a move both objects are handles, so that a vector of states can grow. If the source is
/// then assigned, the destination becomes a copy of the value before: std::swap(h, c),
/// std::exchange and std::rotate exchange values. Algorithms that remove elements from a list of
/// states, such as erase(), assign values too; the trace emits a remark for a state whose handle is
/// dropped this way.
class State {
 public:
  /// A register of the traced graph that starts as `initial`. It is not a state of the model:
  /// `State h(filled({batch, hidden}, 0))` starts from zero in every run.
  explicit State(Value initial, std::string name = "state", Where where = Where::here());
  explicit State(std::shared_ptr<StateCell> cell) : cell_(std::move(cell)) {}
  State(const State& other);
  State(State&& other) noexcept;
  ~State();

  /// Its value at this point of the traced graph. Throws ErrorKind::input outside a trace, or in a
  /// graph that the state does not belong to.
  operator Value() const;

  /// Assigns a value of its type, or a number for every element. Throws ErrorKind::input, at the
  /// line of the value, if the types differ or a parameter is assigned inside a scan.
  State& operator=(Operand value);
  State& operator=(const State& other);
  State& operator=(State&& other);
  State& operator+=(Operand value) { return change(ops::add, value); }
  State& operator-=(Operand value) { return change(ops::sub, value); }
  State& operator*=(Operand value) { return change(ops::mul, value); }
  State& operator/=(Operand value) { return change(ops::div, value); }

  /// Another handle to the same state.
  State handle() const { return State(cell_); }
  /// Whether it is a value, not a handle: it was copied during a trace, or its move source has been
  /// assigned since.
  bool is_copy() const { return copied() != nullptr; }

  const std::string& name() const { return cell_->name; }
  const Type& type() const { return cell_->type; }
  const Shape& shape() const { return cell_->type.shape; }
  const std::shared_ptr<StateCell>& cell() const { return cell_; }

 private:
  /// The value of a copied state and its trace; empty for a handle.
  struct Copied {
    Value value;
    int64_t trace = 0;
  };

  State& change(const Op& op, Operand value);
  /// For a copy: what it is a copy of; otherwise null.
  const Copied* copied() const;

  std::shared_ptr<StateCell> cell_;
  /// What it is a copy of: set at construction, or when its move source is assigned.
  std::shared_ptr<Copied> copied_ = std::make_shared<Copied>();
  std::weak_ptr<Copied> moved_away_;  ///< for a move source: `copied_` of the destination
  std::string given_to_;  ///< the state that its value was moved to, until it is assigned
};

/// A parameter: a state of the model that training changes. It is never a loop carry: inside a scan
/// it has its value outside. Copies are always handles to the same parameter. For a list of
/// parameters with selection, see Params (frontend/params.h).
class Param : public State {
 public:
  using State::State;
  using State::operator=;
  Param(const Param& other) : State(other.cell()) {}
  /// `p = q` is ambiguous: it could rebind p or assign the value of q. To assign, write `p =
  /// Value(q)`. To rebind, use a new Param or a pointer.
  Param& operator=(const Param&) = delete;
};

}  // namespace graphc::core

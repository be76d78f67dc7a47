// SPDX-License-Identifier: Apache-2.0
// The states of a session: drawn at first use, read and set.
#include <algorithm>

#include "frontend/initial_draw.h"
#include "frontend/initializers.h"
#include "frontend/session_compiled.h"
#include "ir/denormals.h"
#include "ir/evaluate.h"
#include "runtime/clock.h"

namespace graphc::core {
namespace {

/// The value in the state's type; throws an error naming the state if it does not fit.
Literal converted_state(const StateCell& cell, const Literal& value) {
  try {
    return value.converted(cell.type.dtype);
  } catch (const Error& error) {
    throw input_error({}, "state '{}' is {}: {}", cell.name, to_string(cell.type), error.message());
  }
}

}  // namespace

DrawsBeside::Draws Session::plain_draws(const Graph& graph) const {
  const UsualArithmetic mode;
  DrawsBeside::Draws draws;
  if (threads_of(options_.compile) == 1) return draws;
  for (const Value state : graph.states()) {
    if (states_.contains(state.name()) || awaited_.contains(state.name())) continue;
    const StateCell& cell = *model_.state_cell(state.name());
    const GraphPtr initial = initial_graph(cell.initializer, cell.type, cell.where).graph;
    if (auto draw = PlainDraw::of(*initial, key_of(cell)))
      draws.emplace_back(cell.name, std::move(*draw));
  }
  return draws;
}

StoredState& Session::stored(std::string_view name, DrawsBeside* beside) {
  const auto known = states_.find(name);
  if (known != states_.end()) return known->second;
  const StateCell& cell = declared(name);
  const Type type = stored_type(cell.type, options_.compile.precision);
  auto awaited = awaited_.find(name);
  // A value kept by another optimizer is discarded.
  if (awaited != awaited_.end() && !awaited->second.is_of_same_optimizer(cell)) {
    awaited_.erase(awaited);
    awaited = awaited_.end();
  }
  if (awaited == awaited_.end()) {
    expect_not_missed(cell);
  } else {
    try {
      check_type(cell, awaited->second.value);
    } catch (const Error& error) {
      throw input_error(cell.where, "{}: {}", awaited->second.path, error.message());
    }
  }
  // Draws before inserting, so that an exception leaves no undrawn state behind.
  std::optional<Literal> value = beside != nullptr ? beside->take(name) : std::nullopt;
  if (!value) value = awaited == awaited_.end() ? draw(cell) : awaited->second.value;
  Tensor initial(std::move(*value).converted(type.dtype));
  value.reset();
  initial.make_unique();
  if (awaited != awaited_.end()) awaited_.erase(awaited);
  return states_.try_emplace(std::string(name), std::move(initial)).first->second;
}

void Session::put(const StateCell& cell, const Literal& value) {
  const auto known = states_.find(cell.name);
  if (known != states_.end()) {
    write(known->second, value);
  } else {
    Tensor initial(value.converted(stored_type(cell.type, options_.compile.precision).dtype));
    initial.make_unique();
    states_.try_emplace(cell.name, std::move(initial));
  }
  awaited_.erase(cell.name);
}

void Session::write(StoredState& state, const Literal& value) {
  const Literal converted = value.converted(state.type().dtype);
  std::ranges::copy(converted.bytes(), state.change().address());
}

void Session::check_type(const StateCell& cell, const Literal& value) const {
  const Type wide = stored_type(cell.type, options_.compile.precision);
  if (value.type() == cell.type || value.type() == wide) return;
  throw input_error({}, "state '{}' is {}: found {}", cell.name, to_string(cell.type),
                    to_string(value.type()));
}

Literal Session::state(std::string_view name) {
  const Call here(*this);
  return stored(name).home().copy();
}

void Session::set_state(std::string_view name, const Data& value) {
  const Call here(*this);
  const StateCell& cell = declared(name);
  const Literal given = value.tensor().literal();
  const bool fits = value.fits(cell.type.dtype) && given.shape() == cell.type.shape;
  const Literal wanted = fits ? converted_state(cell, given) : given;
  check_type(cell, wanted);
  put(cell, wanted);
}

int64_t Session::key_of(const StateCell& cell) const {
  return initial_key(options_.seed, cell.name);
}

Literal Session::draw(const StateCell& cell) const {
  // Shorter draws go unnoticed.
  constexpr double unnoticed = 1;
  const double begun = steady_seconds();
  Literal value = drawn(cell);
  const double seconds = steady_seconds() - begun;
  if (seconds > unnoticed) {
    options_.announce(fmt::format("{}: the first value of {} took {:.1f} s to draw", cell.name,
                                  to_string(cell.type), seconds));
  }
  return value;
}

Literal Session::drawn(const StateCell& cell) const {
  const UsualArithmetic mode;
  const InitialGraph initial = initial_graph(cell.initializer, cell.type, cell.where);
  const GraphPtr& graph = initial.graph;
  const int threads = threads_of(options_.compile);
  if (const auto plain = PlainDraw::of(*graph, key_of(cell))) return plain->value(threads);
  // The evaluator draws this many in half a millisecond; compiling a kernel takes 5 to 10.
  constexpr int64_t kFew = 4096;
  const bool few = cell.type.shape.elements() <= kFew;
  if (few || options_.compile.precision == Precision::f64 || !initial.draws.empty() ||
      !is_exact(graph))
    return initial.value(key_of(cell), threads);
  // Bit-identical to the evaluator, at the target's speed.
  CompileReport unused;
  const std::unique_ptr<Executable> executable = made(graph, unused);
  const Tensor inputs[] = {Tensor(Literal::of(key_of(cell)))};
  Tensor outputs[] = {Tensor(cell.type)};
  executable->run(inputs, outputs);
  return outputs[0].literal();
}

void Session::reset(std::string_view name) {
  const Call here(*this);
  const StateCell& cell = declared(name);
  put(cell, draw(cell));
}

}  // namespace graphc::core

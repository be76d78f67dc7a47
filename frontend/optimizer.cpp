// SPDX-License-Identifier: Apache-2.0
#include "frontend/optimizer.h"

#include <cmath>
#include <set>

#include "frontend/initializers.h"
#include "frontend/intervals.h"
#include "frontend/trace.h"
#include "ir/called.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

void expect_as_many(const char* name, const Params& params, const Values& gradients, Where where) {
  expect_training(name, where);
  expect_distinct(name, params, where);
  if (params.size() != gradients.size()) {
    throw input_error(where, "{}: {} parameters and {} gradients", name, params.size(),
                      gradients.size());
  }
  for (size_t i = 0; i < params.size(); ++i) {
    gradients[i].expect_usable(where);
    if (params[i].type() == gradients[i].type()) continue;
    throw input_error(where, "{}: parameter '{}' is {}: found a gradient {}", name,
                      params[i].name(), to_string(params[i].type()),
                      to_string(gradients[i].type()));
  }
}

State counter(const std::string& name, Where where) {
  return State(Trace::require("a counter", where)
                   .declare({.name = name,
                             .type = {DType::i64, {}},
                             .initializer = zeros(),
                             .where = where,
                             .of_model = true,
                             .transient = true,
                             .kept_by_optimizer = true}));
}

/// Makes `owner` the owner of the state. Throws if another optimizer owns it: each would continue
/// from the other's numbers.
void claim(const State& state, const std::string& owner, Where where) {
  std::string& known = state.cell()->owner;
  if (known.empty()) known = owner;
  if (known == owner) return;
  throw input_error(where,
                    "state '{}' belongs to {}: {} wants it too: it needs another name, or "
                    "parameters of its own",
                    state.name(), known, owner);
}

/// A slot that only `owner` uses.
State own_slot(const Param& param, const char* name, const char* owner, Where where) {
  State state = slot(param, name, {}, where);
  claim(state, fmt::format("{} of {}", owner, param.name()), where);
  return state;
}

/// A counter of the updates of exactly these parameters.
State own_counter(const std::string& name, const char* owner, const Params& params, Where where) {
  std::vector<std::string> names;
  for (const Param& param : params) names.push_back(param.name());
  State state = counter(name, where);
  claim(state, fmt::format("{} of {}", owner, fmt::join(names, ", ")), where);
  return state;
}

/// Throws for option values that no optimizer accepts.
template <typename Optimizer>
void expect_options(const char* name, const Optimizer& optimizer, Where where) {
  expect_in(name, "rate", optimizer.rate, kFromZero, where);
  expect_in(name, "weight_decay", optimizer.weight_decay, kFromZero, where);
  if (optimizer.clip_norm) expect_in(name, "clip_norm", *optimizer.clip_norm, kAboveZero, where);
  if (optimizer.clip_value) expect_in(name, "clip_value", *optimizer.clip_value, kAboveZero, where);
}

/// The gradients after clipping and weight decay.
template <typename Optimizer>
Values prepared(const Optimizer& optimizer, const Params& params, Values gradients, Where where,
                bool decays = true) {
  if (optimizer.clip_value) gradients = clip_by_value(gradients, *optimizer.clip_value, where);
  if (optimizer.clip_norm)
    gradients = clip_by_global_norm(gradients, *optimizer.clip_norm, {}, where);
  if (decays && optimizer.weight_decay != 0) {
    for (size_t i = 0; i < params.size(); ++i)
      gradients[i] = gradients[i] + optimizer.weight_decay * params[i];
  }
  return gradients;
}

/// 1 - beta^t, computed with expm1: in f32, 1 - 0.999 loses four digits.
Value bias_correction(double beta, Value t) { return -expm1(t * std::log(beta)); }

}  // namespace

void expect_training(std::string_view what, Where where) {
  Trace& trace = Trace::require(what, where);
  if (trace.mode() == Mode::training) return;
  throw input_error(where,
                    "{}: graph '{}' is for evaluation: write graph(\"{}\", Mode::training, ...)",
                    what, trace.root().name(), trace.root().name());
}

void expect_distinct(std::string_view what, const Params& params, Where where) {
  if (params.empty()) {
    throw input_error(where,
                      "{}: no parameters are given: a model has params() once it has "
                      "declared some, and without() and where() may leave none",
                      what);
  }
  std::set<const StateCell*> seen;
  for (const Param& param : params) {
    if (seen.insert(param.cell().get()).second) continue;
    throw input_error(where, "{}: parameter '{}' is given twice", what, param.name());
  }
}

Value global_norm(const Values& gradients, Where where) {
  if (gradients.empty()) throw input_error(where, "global_norm: takes at least one gradient");
  const Called called("global_norm", where);
  Value total = sum(square(gradients[0]));
  for (size_t i = 1; i < gradients.size(); ++i) total = total + sum(square(gradients[i]));
  return mutated(Mutant::clipped_by_sum_of_squares) ? total : sqrt(total);
}

Values clip_by_global_norm(const Values& gradients, Operand limit, Value norm, Where where) {
  expect_in("clip_by_global_norm", "limit", limit, kAboveZero, where);
  const Called called("clip_by_global_norm", where);
  if (!norm) norm = global_norm(gradients, where);
  // Not min(limit / norm, 1): that divides by zero at norm 0.
  const Value factor = limit / maximum(norm, limit);
  Values clipped;
  for (Value gradient : gradients) clipped.push_back(gradient * factor);
  return clipped;
}

Values clip_by_norm(const Values& gradients, Operand limit, Where where) {
  const Called called("clip_by_norm", where);
  expect_in("clip_by_norm", "limit", limit, kAboveZero, where);
  Values clipped;
  for (Value gradient : gradients)
    clipped.push_back(clip_by_global_norm({gradient}, limit, {}, where)[0]);
  return clipped;
}

Values clip_by_value(const Values& gradients, double limit, Where where) {
  const Called called("clip_by_value", where);
  expect_in("clip_by_value", "limit", limit, kAboveZero, where);
  Values clipped;
  for (Value gradient : gradients) clipped.push_back(clip(gradient, -limit, limit, where));
  return clipped;
}

State slot(const Param& param, const std::string& name, const Initializer& initializer,
           Where where) {
  Trace& trace = Trace::require("a slot", where);
  trace.expect_own(*param.cell(), where);
  return State(trace.declare({.name = param.name() + "." + name,
                              .type = param.type(),
                              .initializer = initializer ? initializer : zeros(),
                              .where = where,
                              .of_model = true,
                              .transient = true,
                              .kept_by_optimizer = true}));
}

void Sgd::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("sgd", params, gradients, where);
  expect_options("sgd", *this, where);
  const WhereScope scope(where);
  const Values g = prepared(*this, params, gradients, where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    param = Operand(param - rate * g[i], where);
  }
}

void Momentum::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("momentum", params, gradients, where);
  expect_options("momentum", *this, where);
  expect_in("momentum", "momentum", momentum, kFromZeroBelowOne, where);
  const WhereScope scope(where);
  const Values g = prepared(*this, params, gradients, where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State v = own_slot(param, "momentum", "momentum", where);
    v = v * momentum + g[i];
    param = Operand(param - rate * (nesterov ? g[i] + momentum * v : Value(v)), where);
  }
}

void Rmsprop::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("rmsprop", params, gradients, where);
  expect_options("rmsprop", *this, where);
  expect_in("rmsprop", "decay", decay, kFromZeroBelowOne, where);
  expect_in("rmsprop", "epsilon", epsilon, kFromZero, where);
  const WhereScope scope(where);
  const Values g = prepared(*this, params, gradients, where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State s = own_slot(param, "square", "rmsprop", where);
    s = decay * s + (1 - decay) * square(g[i]);
    param = Operand(param - rate * g[i] / (sqrt(s) + epsilon), where);
  }
}

void Adagrad::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("adagrad", params, gradients, where);
  expect_options("adagrad", *this, where);
  expect_in("adagrad", "epsilon", epsilon, kFromZero, where);
  const WhereScope scope(where);
  const Values g = prepared(*this, params, gradients, where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State s = own_slot(param, "square", "adagrad", where);
    s = s + square(g[i]);
    param = Operand(param - rate * g[i] / (sqrt(s) + epsilon), where);
  }
}

void Adam::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("adam", params, gradients, where);
  expect_options("adam", *this, where);
  expect_in("adam", "beta1", beta1, kFromZeroBelowOne, where);
  expect_in("adam", "beta2", beta2, kFromZeroBelowOne, where);
  expect_in("adam", "epsilon", epsilon, kFromZero, where);
  const WhereScope scope(where);
  const Values g = prepared(*this, params, gradients, where, false);
  State step = own_counter(name + ".step", "adam", params, where);
  step = step + 1;
  const Value t = cast(step, DType::f32);
  if (mutated(Mutant::adam_step_not_advanced)) step = step - 1;
  const Value correction1 = bias_correction(beta1, t), correction2 = bias_correction(beta2, t);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State m = own_slot(param, "mean", "adam", where), v = own_slot(param, "square", "adam", where);
    m = beta1 * m + (1 - beta1) * g[i];
    v = beta2 * v + (1 - beta2) * square(g[i]);
    const Value change = (m / correction1) / (sqrt(v / correction2) + epsilon);
    const Value kept = weight_decay == 0 ? Value(param) : param - rate * (weight_decay * param);
    param = Operand(kept - rate * change, where);
  }
}

void Accumulator::add(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("accumulator", params, gradients, where);
  const WhereScope scope(where);
  State count = own_counter(name + ".count", "accumulator", params, where);
  count = count + 1;
  for (size_t i = 0; i < params.size(); ++i) {
    State sum = own_slot(params[i], "accumulated", "accumulator", where);
    sum = sum + gradients[i];
  }
}

Values Accumulator::take(const Params& params, Where where) const {
  expect_training("accumulator", where);
  const WhereScope scope(where);
  State count = own_counter(name + ".count", "accumulator", params, where);
  const Value calls = cast(maximum(Value(count), 1), DType::f32);
  Values means;
  for (const Param& param : params) {
    State sum = own_slot(param, "accumulated", "accumulator", where);
    means.push_back(sum / calls);
    if (!mutated(Mutant::accumulator_not_emptied)) sum = 0;
  }
  count = 0;
  return means;
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "frontend/optimizer.h"

#include <cmath>

#include "frontend/initializers.h"
#include "frontend/trace.h"
#include "ir/mutant.h"

namespace graphc {
namespace {

void expect_as_many(const char* name, const Params& params, const Values& gradients, Where where) {
  if (params.size() == gradients.size()) return;
  throw input_error(where, "{}: {} parameters and {} gradients", name, params.size(),
                    gradients.size());
}

State counter(const std::string& name, Where where) {
  return State(Trace::require("a counter", where)
                   .declare({.name = name,
                             .type = {DType::i64, {}},
                             .initializer = zeros(),
                             .where = where,
                             .of_model = true}));
}

/// 1 - beta^t. Not as it stands: 1 - 0.999 in f32 has lost four digits.
Value bias_correction(double beta, Value t) { return -expm1(t * std::log(beta)); }

}  // namespace

Value global_norm(const Values& gradients, Where where) {
  if (gradients.empty()) throw input_error(where, "global_norm: takes at least one gradient");
  const WhereScope scope(where);
  Value total = sum(square(gradients[0]));
  for (size_t i = 1; i < gradients.size(); ++i) total = total + sum(square(gradients[i]));
  return mutated(Mutant::clipped_by_sum_of_squares) ? total : sqrt(total);
}

Values clip_by_global_norm(const Values& gradients, Operand limit, Value norm, Where where) {
  const WhereScope scope(where);
  if (!norm) norm = global_norm(gradients, where);
  // Not limit / norm bounded by 1: at norm 0 that is a quotient by zero.
  const Value factor = limit / maximum(norm, limit);
  Values clipped;
  for (Value gradient : gradients) clipped.push_back(gradient * factor);
  return clipped;
}

Values clip_by_norm(const Values& gradients, Operand limit, Where where) {
  Values clipped;
  for (Value gradient : gradients)
    clipped.push_back(clip_by_global_norm({gradient}, limit, {}, where)[0]);
  return clipped;
}

Values clip_by_value(const Values& gradients, double limit, Where where) {
  Values clipped;
  for (Value gradient : gradients) clipped.push_back(clip(gradient, -limit, limit, where));
  return clipped;
}

State slot(const Param& param, const std::string& name, const Initializer& initializer,
           Where where) {
  return State(Trace::require("a slot", where)
                   .declare({.name = param.name() + "." + name,
                             .type = param.type(),
                             .initializer = initializer ? initializer : zeros(),
                             .where = where,
                             .of_model = true}));
}

void Sgd::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("sgd", params, gradients, where);
  const WhereScope scope(where);
  const Values steps =
      clip_norm ? clip_by_global_norm(gradients, *clip_norm, {}, where) : gradients;
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    param = param - rate * steps[i];
  }
}

void Momentum::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("momentum", params, gradients, where);
  const WhereScope scope(where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State v = slot(param, "momentum", {}, where);
    v = v * momentum + gradients[i];
    param = param - rate * (nesterov ? gradients[i] + momentum * v : Value(v));
  }
}

void Rmsprop::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("rmsprop", params, gradients, where);
  const WhereScope scope(where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State s = slot(param, "square", {}, where);
    s = decay * s + (1 - decay) * square(gradients[i]);
    param = param - rate * gradients[i] / (sqrt(s) + epsilon);
  }
}

void Adagrad::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("adagrad", params, gradients, where);
  const WhereScope scope(where);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State s = slot(param, "square", {}, where);
    s = s + square(gradients[i]);
    param = param - rate * gradients[i] / (sqrt(s) + epsilon);
  }
}

void Adam::update(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("adam", params, gradients, where);
  const WhereScope scope(where);
  State step = counter(name + ".step", where);
  step = step + 1;
  const Value t = cast(step, DType::f32);
  if (mutated(Mutant::adam_step_not_advanced)) step = step - 1;
  const Value correction1 = bias_correction(beta1, t), correction2 = bias_correction(beta2, t);
  for (size_t i = 0; i < params.size(); ++i) {
    Param param = params[i];
    State m = slot(param, "mean", {}, where), v = slot(param, "square", {}, where);
    m = beta1 * m + (1 - beta1) * gradients[i];
    v = beta2 * v + (1 - beta2) * square(gradients[i]);
    const Value change = (m / correction1) / (sqrt(v / correction2) + epsilon);
    const Value kept = weight_decay == 0 ? Value(param) : param - rate * (weight_decay * param);
    param = kept - rate * change;
  }
}

void Accumulator::add(const Params& params, const Values& gradients, Where where) const {
  expect_as_many("accumulator", params, gradients, where);
  const WhereScope scope(where);
  State count = counter(name + ".count", where);
  count = count + 1;
  for (size_t i = 0; i < params.size(); ++i) {
    State sum = slot(params[i], "accumulated", {}, where);
    sum = sum + gradients[i];
  }
}

Values Accumulator::take(const Params& params, Where where) const {
  const WhereScope scope(where);
  State count = counter(name + ".count", where);
  const Value calls = cast(maximum(Value(count), 1), DType::f32);
  Values means;
  for (const Param& param : params) {
    State sum = slot(param, "accumulated", {}, where);
    means.push_back(sum / calls);
    if (!mutated(Mutant::accumulator_not_emptied)) sum = 0;
  }
  count = 0;
  return means;
}

}  // namespace graphc

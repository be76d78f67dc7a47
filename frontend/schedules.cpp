// SPDX-License-Identifier: Apache-2.0
#include "frontend/schedules.h"

#include <cmath>
#include <numbers>

namespace graphc {
namespace {

Value as_number(Value step, Where where) { return cast(step, DType::f32, where); }

/// factor^exponent.
Value power(double factor, Value exponent) { return exp(exponent * std::log(factor)); }

}  // namespace

Value step_decay(Value step, Operand rate, double every, double factor, Where where) {
  if (!(every > 0 && factor > 0)) {
    throw input_error(where, "step_decay: every and factor are above 0: found {} and {}", every,
                      factor);
  }
  const WhereScope scope(where);
  return rate * power(factor, floor(as_number(step, where) / every));
}

Value exponential_decay(Value step, Operand rate, double every, double factor, Where where) {
  if (!(every > 0 && factor > 0)) {
    throw input_error(where, "exponential_decay: every and factor are above 0: found {} and {}",
                      every, factor);
  }
  const WhereScope scope(where);
  return rate * power(factor, as_number(step, where) / every);
}

Value cosine_decay(Value step, Operand rate, double steps, double lowest, Where where) {
  if (!(steps > 0)) throw input_error(where, "cosine_decay: steps is above 0: found {}", steps);
  const WhereScope scope(where);
  const Value done = minimum(as_number(step, where) / steps, 1);
  const Value share = 0.5 * (1 + cos(done * std::numbers::pi));
  return rate * share + lowest * (1 - share);
}

double Plateau::observe(double measured) {
  const double needed = best_ - threshold_ * std::abs(best_);
  if (std::isfinite(measured) && (!measured_ || measured < needed)) {
    best_ = measured;
    measured_ = true;
    waited_ = 0;
  } else if (++waited_ > patience_) {
    rate_ *= factor_;
    waited_ = 0;
  }
  return rate_;
}

}  // namespace graphc

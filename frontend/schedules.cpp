// SPDX-License-Identifier: Apache-2.0
#include "frontend/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace graphc::core {
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

Plateau::Plateau(Session& session, double rate, const PlateauOptions& options, Where where)
    : options_(options), numbers_(session, options.name, {rate, kNoMeasurement, 0, 0}, where) {
  if (!(options.factor > 0 && options.factor < 1))
    throw input_error(where, "Plateau: factor is above 0 and below 1: found {}", options.factor);
  if (options.patience < 0 || options.cooldown < 0) {
    throw input_error(where, "Plateau: patience and cooldown are no less than 0: found {} and {}",
                      options.patience, options.cooldown);
  }
  if (!(options.threshold >= 0 && options.lowest >= 0)) {
    throw input_error(where, "Plateau: threshold and lowest are no less than 0: found {} and {}",
                      options.threshold, options.lowest);
  }
}

double Plateau::rate() const { return numbers_.get()[0]; }

double Plateau::observe(double measured) {
  const std::vector<double> before = numbers_.get();
  double rate = before[0], best = before[1], waited = before[2], cooling = before[3];
  if (is_best(measured, best, {.largest = options_.largest, .threshold = options_.threshold})) {
    best = measured;
    waited = 0;
  } else {
    ++waited;
  }
  if (cooling > 0) {
    --cooling;
    waited = 0;
  }
  if (waited > options_.patience) {
    rate = std::max(rate * options_.factor, std::min(rate, options_.lowest));
    cooling = options_.cooldown;
    waited = 0;
  }
  numbers_.set({rate, best, waited, cooling});
  return rate;
}

}  // namespace graphc::core

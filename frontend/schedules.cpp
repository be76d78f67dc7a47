// SPDX-License-Identifier: Apache-2.0
#include "frontend/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/intervals.h"

namespace graphc::core {
namespace {

Value as_number(Value step, Where where) { return cast(step, DType::f32, where); }

/// factor^exponent.
Value power(double factor, Value exponent) { return exp(exponent * std::log(factor)); }

void expect_decay(const char* who, const Operand& rate, double every, double factor, Where where) {
  expect_in(who, "rate", rate, kFromZero, where);
  expect_in(who, "every", every, kAboveZero, where);
  expect_in(who, "factor", factor, kAboveZero, where);
}

/// Returns the options, or throws.
const PlateauOptions& checked(const PlateauOptions& options, double rate, Where where) {
  expect_in("Plateau", "rate", rate, kAboveZero, where);
  expect_in("Plateau", "factor", options.factor, kAboveZeroBelowOne, where);
  expect_in("Plateau", "patience", options.patience, kFromZero, where);
  expect_in("Plateau", "cooldown", options.cooldown, kFromZero, where);
  expect_in("Plateau", "threshold", options.threshold, kFromZeroBelowOne, where);
  expect_in("Plateau", "lowest", options.lowest, kFromZero, where);
  if (options.lowest > rate) {
    throw input_error(where, "Plateau: lowest is at most the rate to begin with, {}: found {}",
                      rate, options.lowest);
  }
  return options;
}

}  // namespace

Value step_decay(Value step, Operand rate, double every, double factor, Where where) {
  expect_decay("step_decay", rate, every, factor, where);
  const WhereScope scope(where);
  return rate * power(factor, floor(as_number(step, where) / every));
}

Value exponential_decay(Value step, Operand rate, double every, double factor, Where where) {
  expect_decay("exponential_decay", rate, every, factor, where);
  const WhereScope scope(where);
  return rate * power(factor, as_number(step, where) / every);
}

Value cosine_decay(Value step, Operand rate, double steps, double lowest, Where where) {
  expect_in("cosine_decay", "rate", rate, kFromZero, where);
  expect_in("cosine_decay", "steps", steps, kAboveZero, where);
  expect_in("cosine_decay", "lowest", lowest, kFromZero, where);
  const WhereScope scope(where);
  const Value done = minimum(as_number(step, where) / steps, 1);
  const Value share = 0.5 * (1 + cos(done * std::numbers::pi));
  return rate * share + lowest * (1 - share);
}

Plateau::Plateau(Session& session, double rate, const PlateauOptions& options, Where where)
    : options_(checked(options, rate, where)),
      numbers_(session, options.name, {rate, kNoMeasurement, 0, 0, double(options.largest)},
               where) {}

double Plateau::rate() const { return numbers_.get()[0]; }

double Plateau::observe(double measured) {
  const std::vector<double> before = numbers_.get();
  double rate = before[0], best = before[1], waited = before[2], cooling = before[3];
  expect_same_best("Plateau", options_.name, best, before[4] != 0, options_.largest);
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
  numbers_.set({rate, best, waited, cooling, double(options_.largest)});
  return rate;
}

}  // namespace graphc::core

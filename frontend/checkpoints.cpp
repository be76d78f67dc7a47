// SPDX-License-Identifier: Apache-2.0
#include "frontend/checkpoints.h"

#include <cmath>

#include "frontend/intervals.h"

namespace graphc::core {
namespace {

const EarlyStoppingOptions& checked(const EarlyStoppingOptions& options, Where where) {
  if (options.patience < 1)
    throw input_error(where, "EarlyStopping: patience is at least 1: found {}", options.patience);
  expect_in("EarlyStopping", "threshold", options.threshold, kFromZeroBelowOne, where);
  return options;
}

const BestCheckpointOptions& checked(const BestCheckpointOptions& options, Where where) {
  expect_in("BestCheckpoint", "threshold", options.threshold, kFromZeroBelowOne, where);
  return options;
}

}  // namespace

KeptCounter& KeptCounter::operator=(int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (value < -kMost || value > kMost)
    throw input_error({}, "a counter is at most 2^53 and at least -2^53: found {}", value);
  numbers_.set({double(value)});
  return *this;
}

EarlyStopping::EarlyStopping(Session& session, const EarlyStoppingOptions& options, Where where)
    : options_(checked(options, where)),
      numbers_(session, options.name, {kNoMeasurement, 0, double(options.largest)}, where) {}

bool EarlyStopping::observe(double measured) {
  const std::vector<double> before = numbers_.get();
  const double largest = options_.largest;
  expect_same_best("EarlyStopping", options_.name, before[0], before[2] != 0, options_.largest);
  const bool best =
      is_best(measured, before[0], {.largest = options_.largest, .threshold = options_.threshold});
  numbers_.set(best ? std::vector{measured, 0.0, largest}
                    : std::vector{before[0], before[1] + 1, largest});
  return best;
}

bool LastCheckpoint::resume() {
  std::error_code unknown;
  if (!std::filesystem::exists(path_, unknown) && !unknown) return false;
  session_.load(path_.string(), Loading::exact);
  return true;
}

BestCheckpoint::BestCheckpoint(Session& session, std::filesystem::path path,
                               const BestCheckpointOptions& options, Where where)
    : path_(std::move(path)),
      options_(checked(options, where)),
      numbers_(session, options.name, {kNoMeasurement, double(options.largest)}, where) {}

bool BestCheckpoint::observe(double measured) {
  expect_same_best("BestCheckpoint", options_.name, best(), numbers_.get()[1] != 0,
                   options_.largest);
  if (!is_best(measured, best(), {.largest = options_.largest, .threshold = options_.threshold}))
    return false;
  // The file comes first: if writing it fails, the best is not updated.
  numbers_.session().save(path_.string());
  numbers_.set({measured, double(options_.largest)});
  return true;
}

bool BestCheckpoint::restore() {
  if (std::isnan(best())) return false;
  numbers_.session().load(path_.string());
  return true;
}

}  // namespace graphc::core

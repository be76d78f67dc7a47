// SPDX-License-Identifier: Apache-2.0
// What fit() asks of its options, and which of them may not change while a training is stopped.
#pragma once

#include "frontend/fit.h"
#include "frontend/kept_numbers.h"

namespace graphc::core {

/// Throws ErrorKind::input, at `where`, for options that do not fit together.
void check_options(const FitOptions& options, Where where);

/// Throws ErrorKind::input, at `where`, for no batches, one without samples, and a sample that is
/// not there.
void check_batches(const SampleBatches& batches, const FitOptions& options, int64_t epoch,
                   Where where);

/// The options that a training goes on with, and what is to be known of its last call. It is kept
/// in the session.
struct FitSettings {
  bool known = false;  ///< fit() was called before
  int64_t batch = 0, samples = 0;
  uint64_t seed = 0;
  bool largest = false;
  double batches = 0;     ///< a checksum of the batches of the epoch that has begun
  bool is_best = false;   ///< the model of the last epoch that is done is the best one
  bool restored = false;  ///< the session has the best model, and not that of the last epoch

  static constexpr size_t kNumbers = 9;
  static FitSettings of(const std::vector<double>& numbers);
  std::vector<double> numbers() const;
};

/// 53 bits of a hash.
double checksum(const SampleBatches& batches);

/// Throws ErrorKind::input, at `where`, naming both values, where a training goes on with options
/// under which it would be another one. `done` are the batches of its epoch that are done.
void expect_goes_on(const FitSettings& before, const FitSettings& now, const FitOptions& options,
                    int64_t done, Where where);

/// The states of a session but for parameters and what optimizers keep: what the end of an epoch
/// counts.
class CountedStates {
 public:
  explicit CountedStates(Session& session);
  /// They are again what they were. Those that there were not begin anew.
  void put_back() const;

 private:
  Session& session_;
  std::vector<std::pair<std::string, Literal>> values_;
};

}  // namespace graphc::core

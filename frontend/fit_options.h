// SPDX-License-Identifier: Apache-2.0
// Checks of the options of fit(), and of changes to them between two calls.
#pragma once

#include "frontend/fit.h"
#include "frontend/kept_numbers.h"

namespace graphc::core {

/// Throws ErrorKind::input, at `where`, for options that contradict each other.
void check_options(const FitOptions& options, Where where);

/// Throws ErrorKind::input, at `where`, for no batches, an empty batch, and a sample number out of
/// range.
void check_batches(const SampleBatches& batches, const FitOptions& options, int64_t epoch,
                   Where where);

/// The options of a training that is resumed, and the state of its last call. Kept in the session.
struct FitSettings {
  bool known = false;  ///< fit() was called before
  int64_t batch = 0, samples = 0;
  uint64_t seed = 0;
  bool largest = false;
  double batches = 0;     ///< checksum of the batches of the current epoch
  bool is_best = false;   ///< the model of the last completed epoch is the best one
  bool restored = false;  ///< the session has the best model, not that of the last epoch

  static constexpr size_t kNumbers = 9;
  static FitSettings of(const std::vector<double>& numbers);
  std::vector<double> numbers() const;
};

/// 53 bits of a hash.
double checksum(const SampleBatches& batches);

/// Throws ErrorKind::input, at `where`, naming both values, if the options would change the
/// training that is resumed. `done` is the number of completed batches of its epoch.
void expect_goes_on(const FitSettings& before, const FitSettings& now, const FitOptions& options,
                    int64_t done, Where where);

/// The states of a session other than parameters and optimizer states: those that the end of an
/// epoch updates.
class CountedStates {
 public:
  explicit CountedStates(Session& session);
  /// Restores their values. States that did not exist are reset.
  void put_back() const;

 private:
  Session& session_;
  std::vector<std::pair<std::string, Literal>> values_;
};

}  // namespace graphc::core

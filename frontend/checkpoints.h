// SPDX-License-Identifier: Apache-2.0
// Building blocks of a training loop that can be resumed: an epoch counter, early stopping, and the
// last and best checkpoints. Their numbers are states of the session, so a training that is stopped
// and resumed gives the same results as one that is not.
//
//   Session session(model, {.seed = 1});
//   KeptCounter epoch(session, "epoch");
//   EarlyStopping stopping(session, {.patience = 5});
//   BestCheckpoint best(session, "best.safetensors");
//   LastCheckpoint last(session, "last.safetensors");   // after the others
//   last.resume();
//   while (epoch < 30 && !stopping.stops()) {
//     ...
//     best.observe(validation);
//     stopping.observe(validation);
//     ++epoch;
//     last.save();
//   }
#pragma once

#include <filesystem>
#include <string>

#include "frontend/kept_numbers.h"

namespace graphc::core {

/// An integer saved with the training, such as the number of epochs or steps done. The session must
/// outlive it; the same holds for every class below.
class KeptCounter {
 public:
  /// Starts at 0. Throws ErrorKind::input, at `where`, if the session's model has another state
  /// with this name.
  KeptCounter(Session& session, std::string name, Where where = Where::here())
      : numbers_(session, std::move(name), {0}, where) {}

  int64_t value() const { return int64_t(numbers_.get()[0]); }
  operator int64_t() const { return value(); }
  KeptCounter& operator++() { return *this = value() + 1; }
  /// From -2^53 to 2^53. Throws ErrorKind::input for other values.
  KeptCounter& operator=(int64_t value);

 private:
  KeptNumbers numbers_;
};

struct EarlyStoppingOptions {
  int64_t patience = 10;  ///< stop after this many measurements in a row without improvement
  double threshold = 0;   ///< relative improvement required over the best, in [0, 1)
  bool largest = false;   ///< the largest measurement is the best, e.g. for an accuracy
  std::string name = "early_stopping";  ///< name of the state with its numbers
};

/// Ends a training when a measurement, such as the loss on validation data, has not improved for
/// `patience` measurements.
class EarlyStopping {
 public:
  /// Throws ErrorKind::input, at `where`, for options out of bounds and for a name that is taken.
  explicit EarlyStopping(Session& session, const EarlyStoppingOptions& options = {},
                         Where where = Where::here());

  /// Records a measurement; returns whether it is the best so far. Throws ErrorKind::input if the
  /// earlier measurements were taken with the other `largest`.
  bool observe(double measured);
  /// Whether to stop.
  bool stops() const { return waited() >= options_.patience; }
  /// The number of measurements since the best.
  int64_t waited() const { return int64_t(numbers_.get()[1]); }
  /// The best measurement; NaN before the first.
  double best() const { return numbers_.get()[0]; }

 private:
  EarlyStoppingOptions options_;
  KeptNumbers numbers_;  ///< the best, the number of measurements since it, and `largest`
};

/// A file with every state of a session, rewritten as training goes on.
class LastCheckpoint {
 public:
  LastCheckpoint(Session& session, std::filesystem::path path)
      : session_(session), path_(std::move(path)) {}

  /// Resumes from the file; returns false if there is none. Call it after creating all objects that
  /// keep numbers in the session: counters, schedules, early stopping. Loads with Loading::exact.
  /// Throws ErrorKind::input for a file that lacks a state of the model or of these objects, for a
  /// file not written with Saving::everything, and as Session::load() does. Different optimizer
  /// states throw ErrorKind::input when the graph is compiled.
  bool resume();
  /// Writes the file, atomically. Throws ErrorKind::resource if it cannot be written.
  void save() { session_.save(path_.string(), Saving::everything); }
  const std::filesystem::path& path() const { return path_; }

 private:
  Session& session_;
  std::filesystem::path path_;
};

struct BestCheckpointOptions {
  double threshold = 0;  ///< relative improvement required over the best, in [0, 1)
  bool largest = false;  ///< the largest measurement is the best, e.g. for an accuracy
  std::string name = "best_checkpoint";  ///< name of the state with the best measurement
};

/// A file with the parameters and buffers at the best measurement.
class BestCheckpoint {
 public:
  /// Throws ErrorKind::input, at `where`, for a threshold out of bounds and for a name that is
  /// taken.
  BestCheckpoint(Session& session, std::filesystem::path path,
                 const BestCheckpointOptions& options = {}, Where where = Where::here());

  /// Records a measurement. If it is the best so far, writes the file and returns true. Throws
  /// ErrorKind::resource if the file cannot be written, and ErrorKind::input if the earlier
  /// measurements were taken with the other `largest`.
  bool observe(double measured);
  /// Loads the parameters and buffers of the file into the session; returns false if there was no
  /// best measurement yet.
  bool restore();
  /// The best measurement; NaN before the first.
  double best() const { return numbers_.get()[0]; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  BestCheckpointOptions options_;
  KeptNumbers numbers_;
};

}  // namespace graphc::core

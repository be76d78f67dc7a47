// SPDX-License-Identifier: Apache-2.0
// What a training of one's own goes on from: a counter of its epochs, when it ends early, the last
// and the best of its parameters. Their numbers are states of the session, so that a training that
// is stopped and resumed does what it would have done.
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

/// A whole number that is kept with the training: of the epochs done, of the steps. The session
/// must outlive it, as it must outlive every object below.
class KeptCounter {
 public:
  /// Begins at 0. Throws ErrorKind::input, at `where`, when the session's model has another state
  /// of the name.
  KeptCounter(Session& session, std::string name, Where where = Where::here())
      : numbers_(session, std::move(name), {0}, where) {}

  int64_t value() const { return int64_t(numbers_.get()[0]); }
  operator int64_t() const { return value(); }
  KeptCounter& operator++() { return *this = value() + 1; }
  /// From -2^53 to 2^53. Throws ErrorKind::input for another.
  KeptCounter& operator=(int64_t value);

 private:
  KeptNumbers numbers_;
};

struct EarlyStoppingOptions {
  int64_t patience = 10;  ///< measurements in a row without a better one: then it ends
  double threshold = 0;   ///< the share of the best by which to beat it: from 0, below 1
  bool largest = false;   ///< the largest measurement is the best, as of an accuracy
  std::string name = "early_stopping";  ///< of the state that its numbers are
};

/// Ends a training when the measurement, such as the loss on data it has not seen, is no better for
/// long.
class EarlyStopping {
 public:
  /// Throws ErrorKind::input, at `where`, for numbers out of their bounds and for a name that is
  /// taken.
  explicit EarlyStopping(Session& session, const EarlyStoppingOptions& options = {},
                         Where where = Where::here());

  /// Takes a measurement in; whether it is the best so far. Throws ErrorKind::input where it goes
  /// on from one with another `largest`.
  bool observe(double measured);
  /// Whether there is no use in going on.
  bool stops() const { return waited() >= options_.patience; }
  /// The measurements since the best.
  int64_t waited() const { return int64_t(numbers_.get()[1]); }
  /// The best; not a number before there is one.
  double best() const { return numbers_.get()[0]; }

 private:
  EarlyStoppingOptions options_;
  KeptNumbers numbers_;  ///< the best, how many measurements since, and `largest`
};

/// Everything a session has in one file, written anew as training goes on.
class LastCheckpoint {
 public:
  LastCheckpoint(Session& session, std::filesystem::path path)
      : session_(session), path_(std::move(path)) {}

  /// Goes on from the file; false where there is none. To be called when what keeps numbers in the
  /// session is there: counters, schedules, early stopping. It loads as Loading::exact says. Throws
  /// ErrorKind::input for a file without everything, for one that lacks a state that the model or
  /// these objects have, and as Session::load() does; for other states of an optimizer when the
  /// graph is compiled.
  bool resume();
  /// Writes it, whole or not at all. Throws ErrorKind::resource when it cannot be written.
  void save() { session_.save(path_.string(), Saving::everything); }
  const std::filesystem::path& path() const { return path_; }

 private:
  Session& session_;
  std::filesystem::path path_;
};

struct BestCheckpointOptions {
  double threshold = 0;  ///< the share of the best by which to beat it: from 0, below 1
  bool largest = false;  ///< the largest measurement is the best, as of an accuracy
  std::string name = "best_checkpoint";  ///< of the state that the best one is
};

/// The model as it was at the best measurement, in a file: parameters and buffers.
class BestCheckpoint {
 public:
  /// Throws ErrorKind::input, at `where`, for a threshold out of its bounds and for a name that is
  /// taken.
  BestCheckpoint(Session& session, std::filesystem::path path,
                 const BestCheckpointOptions& options = {}, Where where = Where::here());

  /// Takes a measurement in; where it is the best so far, writes the file, and returns true. Throws
  /// ErrorKind::resource when it cannot be written, ErrorKind::input where it goes on from one with
  /// another `largest`.
  bool observe(double measured);
  /// Gives the session the parameters and buffers of the file, if there was a best one; whether
  /// there was.
  bool restore();
  /// The best measurement; not a number before there is one.
  double best() const { return numbers_.get()[0]; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  BestCheckpointOptions options_;
  KeptNumbers numbers_;
};

}  // namespace graphc::core

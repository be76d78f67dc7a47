// SPDX-License-Identifier: Apache-2.0
// What `graphc train` does so that several ranks train as one: they begin alike, stop together, and
// an error of one ends them all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/program.h"
#include "tools/commands/train_command.h"

namespace graphc::core::commands {

/// Throws unless ranks and shards divide the batch of the program's training graph, and for
/// gradients in bf16 with shards.
void check_divides(const Ranks& ranks, const SessionOptions& session, const Program& program,
                   const std::string& model);

/// Throws an AgreedError that names what differs unless all ranks run the same version of graphc
/// with the same command line, but for paths. Call it first.
void check_same_command(TrainCommand& options);

/// The same unless their processors have the same instructions: others would round otherwise.
void check_same_processor(const TrainCommand& options);

/// The course of a training on several ranks.
class RankedTraining {
 public:
  explicit RankedTraining(TrainCommand& options) : options_(options) {}

  /// Calls `train`, and returns the exit code. Errors that all ranks have are reported by rank 0
  /// (the others end silently with their code); any other ends all ranks with its message.
  int run(const std::function<int()>& train);

  /// Makes `train.begins` check that all ranks have the same data and states, and `train.stop` stop
  /// all ranks as soon as one is stopped by a signal or has an error to report. Call it last before
  /// a training begins.
  void watch(Session& session);
  /// Calls `report`, of a file that is this rank's own. With several ranks, an error of it stops
  /// the training after the step, on all.
  void guarded(const std::function<void()>& report);
  /// The same on rank 0 alone, with an event to report.
  void tell(const TrainEvent& event, const std::function<void(const TrainEvent&)>& report);
  /// After the training: throws the error of a report, on every rank. Returns the signal that
  /// stopped it, or 0.
  int end();

 private:
  /// Whether all ranks have this error.
  bool is_alike(const Error& error) const;
  void check_same_beginning(Session& session, const Notes& notes) const;
  bool stops();
  /// For each rank, the seconds since the last call that it waited for others.
  std::vector<double> waited();
  void say_who_is_slow(const std::vector<double>& waited);

  TrainCommand& options_;
  bool begun_ = false;
  int signal_ = 0;
  std::exception_ptr untold_;
  double seconds_before_ = 0, began_ = 0;
};

}  // namespace graphc::core::commands

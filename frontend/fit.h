// SPDX-License-Identifier: Apache-2.0
// fit: the loop of a training, written in public parts that can be used one by one: shuffled() and
// in_batches() (frontend/buckets.h), EarlyStopping, BestCheckpoint and LastCheckpoint
// (frontend/checkpoints.h), Curve, Progress, TensorBoard. docs/training.md shows it.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/session.h"

namespace graphc::core {

/// Samples by their numbers, in batches: in_batches(shuffled(count, seed, epoch), 32).
using SampleBatches = std::vector<std::vector<int64_t>>;
/// The inputs of a graph for some samples.
using InputsOf = std::function<std::vector<Data>(std::span<const int64_t> samples)>;

/// A step of a training that is done.
struct FitStep {
  int64_t epoch = 0;  ///< from 0
  int64_t done = 0;   ///< steps of this epoch that are done
  int64_t steps = 0;  ///< steps of an epoch
  int64_t step = 0;   ///< steps done since the beginning
  double loss = 0;
};

/// An epoch of a training that is done.
struct FitEpoch {
  int64_t epoch = 0;  ///< from 0
  int64_t step = 0;   ///< steps done since the beginning
  double loss = 0;    ///< the mean over the samples of the epoch
  std::optional<double> validation;
  bool best = false;  ///< the validation was the best so far
};

struct FitOptions {
  int64_t epochs = 10;  ///< of the whole training, those before it was stopped included

  // --- data ---

  int64_t samples = 0;  ///< how many there are: numbers from 0
  int64_t batch = 32;   ///< samples of a step
  /// The inputs of `graph` for the samples of a batch. Required.
  InputsOf inputs;
  /// The batches of an epoch, from 0, where they are not `samples` shuffled by the session's seed
  /// and the epoch. It is to depend on the epoch alone: then a training that is resumed has the
  /// order it would have had. A sample may be in it several times or not at all; its number is at
  /// least 0 and, where `samples` are given, below them.
  std::function<SampleBatches(int64_t epoch)> order;
  /// The graph that does a step. Its result `loss`, or its only one, is the mean over a batch.
  std::string graph = "train";

  // --- validation ---

  /// How good the model is on other data; mean_loss() of a graph that computes the loss, say.
  std::function<double()> validate;
  bool largest = false;  ///< the largest validation is the best, as of an accuracy
  double threshold = 0;  ///< the share of the best by which to beat it: from 0, below 1
  int64_t patience = 0;  ///< end after so many epochs without a better validation; 0: never

  // --- files; an empty path writes none ---

  /// Everything, after each epoch, after every `checkpoint_every` steps where that is not 0, and
  /// when it is stopped. A training goes on from the file if it is there.
  std::filesystem::path checkpoint;
  int64_t checkpoint_every = 0;
  /// The model of the best validation. The session has that one again when the training has come to
  /// its end: more epochs in this session then want a `checkpoint`, which has the last one.
  std::filesystem::path best;
  std::filesystem::path curve;        ///< a CSV file: epoch, loss and validation of each epoch
  std::filesystem::path tensorboard;  ///< a folder: loss of each step, figures of each epoch

  // --- what happens beside ---

  /// Of the states in which it keeps where it is. A session in which all epochs of one training are
  /// done goes on to another one under another name, with the parameters and with all that
  /// optimizers keep as they are.
  std::string name = "fit";

  bool progress = true;  ///< show it on stderr
  std::function<void(const FitStep&)> after_step;
  /// After the validation of an epoch and before it is saved: the place for Plateau::observe().
  std::function<void(const FitEpoch&)> after_epoch;
  /// Asked after every step; true saves everything and ends the training.
  std::function<bool()> stop;
};

/// What came of a training.
struct FitReport {
  int64_t epochs = 0;  ///< done, those before it was stopped included
  int64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< of the last epoch that this call did
  double validation = std::numeric_limits<double>::quiet_NaN();  ///< and its validation
  double best = std::numeric_limits<double>::quiet_NaN();        ///< the best of all validations
  bool gave_up = false;  ///< it ended because `patience` was over
  bool stopped = false;  ///< `stop` ended it
};

/// Trains a session's model. With a `checkpoint`, a training that was stopped at any moment and is
/// called again gives the numbers, the curve and the files of one that was not stopped, as long as
/// `order`, `inputs` and `validate` depend on nothing but their arguments, the session and what
/// keeps its numbers in the session (Plateau, KeptCounter; made before fit() is called).
///
/// Between two calls `epochs`, `patience`, `threshold` and `checkpoint_every` may change; `batch`,
/// `samples` and `order` too, but not within an epoch. What throws at the end of an epoch
/// (`validate`, `after_epoch`, the curve) leaves all states but parameters and those of optimizers
/// as they were before the validation, so that the next call does it again as a whole.
///
/// Throws ErrorKind::input, at `where`, for options that do not fit together, or not to the
/// training that it goes on with, and for a graph that gives no loss; ErrorKind::check when a loss
/// is not finite; what the session and the files throw.
FitReport fit(Session& session, const FitOptions& options, Where where = Where::here());

/// The mean over the samples of all batches of what a graph gives for a batch: its result `loss`,
/// or its only one. Throws ErrorKind::input, at `where`, for no samples at all, a batch without any
/// and a graph that gives no loss.
double mean_loss(Session& session, const std::string& graph, const SampleBatches& batches,
                 const InputsOf& inputs, Where where = Where::here());

}  // namespace graphc::core

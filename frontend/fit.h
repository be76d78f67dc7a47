// SPDX-License-Identifier: Apache-2.0
// fit: a training loop made of public parts that can be used one by one: shuffled() and
// in_batches() (frontend/buckets.h), EarlyStopping, BestCheckpoint and LastCheckpoint
// (frontend/checkpoints.h), Curve, Progress, TensorBoard. See docs/training.md.
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

/// Batches of sample numbers: in_batches(shuffled(count, seed, epoch), 32).
using SampleBatches = std::vector<std::vector<int64_t>>;
/// The inputs of a graph for these samples.
using InputsOf = std::function<std::vector<Data>(std::span<const int64_t> samples)>;

/// A completed training step.
struct FitStep {
  int64_t epoch = 0;  ///< from 0
  int64_t done = 0;   ///< completed steps of this epoch
  int64_t steps = 0;  ///< steps per epoch
  int64_t step = 0;   ///< completed steps since the start of the training
  double loss = 0;
};

/// A completed epoch.
struct FitEpoch {
  int64_t epoch = 0;  ///< from 0
  int64_t step = 0;   ///< completed steps since the start of the training
  double loss = 0;    ///< mean over the samples of the epoch
  std::optional<double> validation;
  bool best = false;  ///< the best validation so far
};

struct FitOptions {
  int64_t epochs = 10;  ///< epochs of the whole training, including those before it was stopped

  // --- data ---

  int64_t samples = 0;  ///< number of samples; they are numbered from 0
  int64_t batch = 32;   ///< samples per step
  /// The inputs of `graph` for a batch of samples. Required.
  InputsOf inputs;
  /// The batches of an epoch (from 0). Default: `samples` shuffled by the session's seed and the
  /// epoch. It must depend only on the epoch, so that a resumed training sees the same order. A
  /// sample may occur any number of times; its number is at least 0 and below `samples` if that is
  /// given.
  std::function<SampleBatches(int64_t epoch)> order;
  /// The graph that does one step. Its result `loss`, or its only result, is the mean over the
  /// batch.
  std::string graph = "train";
  /// Asks for the inputs of the next step of an epoch, and brings them to the GPU, while this step
  /// is computed (Session::prepare()): `inputs` is then called before `after_step` and `stop` of
  /// the step before. What `inputs` reads of the session is what that step leaves. The one
  /// prepared run of the session is this training's.
  bool prefetch = false;

  // --- validation ---

  /// Measures the model on other data, e.g. with mean_loss() of a graph that computes the loss.
  std::function<double()> validate;
  bool largest = false;  ///< the largest validation is the best, e.g. for an accuracy
  double threshold = 0;  ///< relative improvement required over the best, in [0, 1)
  int64_t patience = 0;  ///< stop after this many epochs without a better validation; 0: never

  // --- files; an empty path writes no file ---

  /// Every state, saved after each epoch, after every `checkpoint_every` steps (0: never), and when
  /// the training is stopped. If the file exists, the training resumes from it.
  std::filesystem::path checkpoint;
  int64_t checkpoint_every = 0;
  /// The model with the best validation. At the end of the training the session has this model
  /// again; to train for more epochs in the same session, set `checkpoint`, which has the last
  /// model.
  std::filesystem::path best;
  std::filesystem::path curve;        ///< a CSV file: epoch, loss and validation of each epoch
  std::filesystem::path tensorboard;  ///< a folder: loss per step, figures per epoch

  // --- everything else ---

  /// Prefix of the states that record its progress. To start another training in a session whose
  /// training is complete, use another name; parameters and optimizer states are kept.
  std::string name = "fit";

  bool progress = true;  ///< show it on stderr
  std::function<void(const FitStep&)> after_step;
  /// Called after the validation of an epoch and before it is saved: the place for
  /// Plateau::observe().
  std::function<void(const FitEpoch&)> after_epoch;
  /// Called after every step; true saves everything and ends the training.
  std::function<bool()> stop;
};

/// The outcome of a training.
struct FitReport {
  int64_t epochs = 0;  ///< completed, including those before it was stopped
  int64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();        ///< of this call's last epoch
  double validation = std::numeric_limits<double>::quiet_NaN();  ///< of the same epoch
  double best = std::numeric_limits<double>::quiet_NaN();        ///< the best of all validations
  bool gave_up = false;                                          ///< ended by `patience`
  bool stopped = false;                                          ///< ended by `stop`
};

/// Trains a session's model. With a `checkpoint`, a training that is stopped at any moment and
/// called again gives the same numbers, curve and files as one that is not stopped, provided that
/// `order`, `inputs` and `validate` depend only on their arguments, the session and objects that
/// keep their numbers in the session (Plateau, KeptCounter; created before the call).
///
/// Between two calls `epochs`, `patience`, `threshold` and `checkpoint_every` may change; `batch`,
/// `samples` and `order` may change between epochs. If `validate`, `after_epoch` or the curve
/// throws at the end of an epoch, all states except parameters and optimizer states are restored to
/// their values before the validation, so that the next call repeats it.
///
/// With the ranks of several processes in the session (SessionOptions::ranks), all call it alike:
/// rank 0 alone writes the files, which the others read when a training is resumed, and shows the
/// progress; `stop` of any rank stops all.
///
/// Throws ErrorKind::input, at `where`, for options that contradict each other or the training that
/// is resumed, and for a graph without a loss; ErrorKind::check if a loss is not finite; and
/// whatever the session and the files throw.
FitReport fit(Session& session, const FitOptions& options, Where where = Where::here());

/// The mean loss over all samples of all batches. A graph gives the loss of a batch as its result
/// `loss` or its only result. Throws ErrorKind::input, at `where`, for no samples, an empty batch,
/// and a graph without a loss.
double mean_loss(Session& session, const std::string& graph, const SampleBatches& batches,
                 const InputsOf& inputs, Where where = Where::here());

}  // namespace graphc::core

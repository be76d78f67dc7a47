// SPDX-License-Identifier: Apache-2.0
// Program: a workload with a name: a model, its inputs, and its training.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/model.h"
#include "frontend/session.h"
#include "models/data/texts.h"

namespace graphc::core {

/// The nominal work of one call, the unit of speeds.
struct Work {
  int64_t examples = 0;             ///< sequences, the batch
  int64_t words = 0;                ///< predicted elements; 0 if nothing of the kind is predicted
  std::string_view unit = "words";  ///< the name of these elements
  double forward_flop = 0;
  double train_flop = 0;  ///< forward, backward and whatever else the nominal count includes
};

/// The contents of a checkpoint other than arrays, by name: the vocabulary, for example.
using Notes = std::map<std::string, std::string>;

/// The position of a training, between two steps.
struct TrainPosition {
  int64_t epoch = 0;   ///< from 0
  int64_t window = 0;  ///< completed steps of this epoch
  int64_t step = 0;    ///< completed steps since the start
  double total = 0;    ///< nats per element, summed over the steps of this epoch
  /// The lowest validation loss so far; infinity before the first.
  double best = std::numeric_limits<double>::infinity();
  int64_t stalls = 0;  ///< validations that did not improve the best loss
  int64_t waited = 0;  ///< those of them since the best

  bool operator==(const TrainPosition&) const = default;
};

/// A measure of a model's quality on data, such as `loss`, `perplexity`, `accuracy`.
struct Metric {
  std::string name;
  double value = 0;

  bool operator==(const Metric&) const = default;
};

/// A time span, in steady_seconds().
struct TimeSpan {
  double began = 0, ended = 0;
};

/// A line to plot, with one value per position.
struct TrainLine {
  std::string name;
  std::vector<double> values;
};

/// An event of a training; fields that do not apply are empty.
struct TrainEvent {
  std::string event;           ///< step, epoch, evaluation, sample, end
  int64_t epoch = 0;           ///< from 0
  int64_t step = 0;            ///< completed steps since the start
  int64_t epochs = 0;          ///< of the training, if it has them
  int64_t epoch_step = 0;      ///< completed steps of this epoch
  int64_t epoch_steps = 0;     ///< steps per epoch; 0 outside epochs
  std::optional<double> loss;  ///< nats per predicted element, or the loss if none is predicted
  std::optional<double> learning_rate;
  /// For a step: the global norm of the loss's gradients before clipping.
  std::optional<double> gradient_norm;
  TimeSpan read;                      ///< for a step: when its inputs were made
  TimeSpan waited;                    ///< for a step: from the previous step to its run
  std::optional<double> words_per_s;  ///< since the start of the epoch; `unit` is its unit
  std::string_view unit = "words";    ///< the predicted elements
  std::vector<Metric> metrics;        ///< on data: "train_perplexity", "valid_loss", ...
  std::string text;                   ///< of a sample; why training ended early
  std::vector<TrainLine> lines = {};  ///< at the end: the forecast and the truth
  /// For an epoch of several ranks: the seconds that each waited for others.
  std::vector<double> waited_s = {};
  std::string gradients = {};  ///< the type in which ranks send them; empty for one rank

  /// The metric with that name, if present.
  std::optional<double> metric(std::string_view name) const;
  /// All its figures under their names in logs: "loss", "words_per_s", metrics, ...
  std::vector<Metric> figures() const;
};

struct TrainOptions {
  std::optional<std::filesystem::path> data;  ///< the folder of the corpus, if any
  Reading reading;                            ///< how to read the data
  std::optional<int64_t> epochs;              ///< default: the recipe's
  int64_t max_steps = std::numeric_limits<int64_t>::max();
  int64_t patience = 0;  ///< stop after this many validations without a better loss; 0: never
  std::function<void(const TrainEvent&)> report;  ///< receives every event
  std::function<bool()> stop;  ///< called after every step; true ends the training
  /// Called once, when the data are read and before the first step, with the notes of the training.
  std::function<void(const Notes&)> begins;
  TrainPosition from;  ///< where to resume: a position passed to `save`
  Notes notes;         ///< and its notes; a model refuses notes that do not match its data
  /// For a training initialised with the parameters of another one: that training's notes, whose
  /// vocabulary or table layout applies here too.
  Notes init;
  /// Saves the states of the session with a position: called after every epoch, every `save_every`
  /// steps (0: never), when stopped, and at the end.
  std::function<void(const TrainPosition&, const Notes&)> save;
  /// Saves the model of the session, like `save`, as that of the best validation: called after each
  /// epoch with the best validation so far, before `save`.
  std::function<void(const TrainPosition&, const Notes&)> keep_best;
  /// Restores that model into the session: called before the final test, if the best model is
  /// tested. Nothing is saved after it.
  std::function<void()> restore_best;
  int64_t save_every = 0;
  bool lines = false;         ///< whether the final event has TrainEvent::lines
  int64_t sample = 0;         ///< elements to draw after each epoch, if the model can
  std::string sample_prompt;  ///< the prompt for them
};

/// The kind of data that a program reads.
enum class DataKind : uint8_t {
  nothing,  ///< it draws its own
  corpus,   ///< certain text files in a folder
  text,     ///< a text, or all texts in a folder
  table,    ///< rows of numbers
};

struct EvaluateOptions {
  std::optional<std::filesystem::path> data;  ///< the corpus, as in TrainOptions
  Reading reading;                            ///< how to read the data
  /// The part of the corpus: train, valid or test; for any text: all.
  std::string split = "test";
  Notes notes;  ///< of the checkpoint with the parameters
};

struct GenerateOptions {
  std::string prompt;
  int64_t length = 500;    ///< elements to draw after the prompt
  double temperature = 1;  ///< of the softmax; 0 takes the likeliest
  int64_t top_k = 0;       ///< draw from this many of the likeliest; 0: all
  Notes notes;             ///< of the checkpoint with the parameters
  /// Receives one line on elements of the prompt that the model does not know.
  std::function<void(const std::string& line)> remark = {};
  /// Receives text as it is drawn; returns false to end early.
  std::function<bool(std::string_view text)> write;
};

/// The results of a model's graph `train`: `loss`, and `gradient_norm`, the global norm of these
/// gradients, the unmodified gradients of the loss.
Results train_results(Value loss, const Values& gradients);

class Program {
 public:
  virtual ~Program() = default;

  virtual Model& model() = 0;
  /// The extents of the named dims of a graph (`train`, `forward`, ...).
  virtual Extents extents(std::string_view graph) const = 0;
  /// Random inputs of a graph, determined by the seed; needs no corpus.
  virtual std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const = 0;
  /// The work of one call of `train` (train_flop) and of `forward` (forward_flop).
  virtual Work work() const = 0;
  /// Whether training validates after every epoch.
  virtual bool validates() const { return false; }
  /// The kind of data that training and evaluation read.
  virtual DataKind reads() const { return DataKind::nothing; }
  /// The part of the data to evaluate on by default: data that is not trained on.
  virtual std::string default_split() const { return "test"; }
  /// Trains. Throws ErrorKind::check if a loss is not finite.
  virtual void train(Session& session, const TrainOptions& options) const = 0;
  /// Evaluates the model on a part of its corpus; the first metric is the one that trainings are
  /// compared by. Throws ErrorKind::usage if the model has no corpus or no such part.
  virtual std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const;
  /// Draws text, without repeating the prompt. Throws ErrorKind::usage if the model draws none,
  /// ErrorKind::input if the notes lack what it needs.
  virtual void generate(Session& session, const GenerateOptions& options) const;
};

}  // namespace graphc::core

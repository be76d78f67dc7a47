// SPDX-License-Identifier: Apache-2.0
// Program: a workload that can be called by name: a model, what it is called with, and how it is
// trained.
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

/// The nominal work of one call: what speeds are counted in.
struct Work {
  int64_t examples = 0;  ///< sequences, the batch
  int64_t words = 0;     ///< predicted elements; 0 where nothing of the kind is predicted
  std::string_view unit = "words";  ///< what they are called
  double forward_flop = 0;
  double train_flop = 0;  ///< forward, backward and what else the nominal count has
};

/// What a checkpoint tells beside arrays, by name: such as the vocabulary.
using Notes = std::map<std::string, std::string>;

/// Where training stands: between two steps.
struct TrainPosition {
  int64_t epoch = 0;   ///< from 0
  int64_t window = 0;  ///< steps of this epoch that are done
  int64_t step = 0;    ///< steps done since the beginning
  double total = 0;    ///< nats per element, summed over the steps of this epoch
  /// The lowest loss on validation data so far; infinity before there is one.
  double best = std::numeric_limits<double>::infinity();
  int64_t stalls = 0;  ///< validations whose loss was not lower than the best before
  int64_t waited = 0;  ///< those of them since the best

  bool operator==(const TrainPosition&) const = default;
};

/// A figure of how well a model does on data, such as `loss`, `perplexity`, `accuracy`.
struct Metric {
  std::string name;
  double value = 0;

  bool operator==(const Metric&) const = default;
};

/// From when to when, both of steady_seconds().
struct TimeSpan {
  double began = 0, ended = 0;
};

/// Numbers to draw beside others, one for each place.
struct TrainLine {
  std::string name;
  std::vector<double> values;
};

/// What happened in training; fields that do not apply are absent.
struct TrainEvent {
  std::string event;           ///< step, epoch, evaluation, sample, end
  int64_t epoch = 0;           ///< from 0
  int64_t step = 0;            ///< steps done since the beginning
  int64_t epochs = 0;          ///< of the training, where it has them
  int64_t epoch_step = 0;      ///< steps of this epoch that are done
  int64_t epoch_steps = 0;     ///< all steps of an epoch; 0 outside epochs
  std::optional<double> loss;  ///< nats per predicted element, or the loss where none is predicted
  std::optional<double> learning_rate;
  /// Of a step: the global norm of the loss's gradients, before they are clipped.
  std::optional<double> gradient_norm;
  TimeSpan read;                      ///< of a step: when its inputs were made
  TimeSpan waited;                    ///< of a step: between the one before and its run
  std::optional<double> words_per_s;  ///< since the epoch began, what `unit` names
  std::string_view unit = "words";    ///< what is predicted, one by one
  std::vector<Metric> metrics;        ///< of data: "train_perplexity", "valid_loss", ...
  std::string text;                   ///< of a sample; why training ended early
  std::vector<TrainLine> lines = {};  ///< at the end: what was forecast, and what it should be

  /// The metric of that name, if it is there.
  std::optional<double> metric(std::string_view name) const;
  /// All its figures under the names that logs have for them: "loss", "words_per_s", metrics, ...
  std::vector<Metric> figures() const;
};

struct TrainOptions {
  std::optional<std::filesystem::path> data;  ///< the folder of the corpus, where there is one
  Reading reading;                            ///< how the data are read
  std::optional<int64_t> epochs;              ///< the recipe's when absent
  int64_t max_steps = std::numeric_limits<int64_t>::max();
  int64_t patience = 0;  ///< end after so many validations without a better loss; 0: never
  std::function<void(const TrainEvent&)> report;  ///< told of every event
  std::function<bool()> stop;  ///< asked after every step; true ends the training
  TrainPosition from;          ///< where to go on: a position `save` was given
  Notes notes;                 ///< and the notes; a model refuses those that do not fit its data
  /// Of a training that begins with the parameters of another: that one's notes, by which the data
  /// become numbers here too.
  Notes init;
  /// Is to keep the states of the session with a position: after every epoch, every `save_every`
  /// steps where that is not 0, when stopped and at the end.
  std::function<void(const TrainPosition&, const Notes&)> save;
  /// Is to keep the model of the session, as `save` does, as that of the best validation: after
  /// each epoch whose validation was the best so far, before `save`.
  std::function<void(const TrainPosition&, const Notes&)> keep_best;
  /// Is to give the session that model again: before the test behind the last epoch, where it is
  /// the best that is tested. Nothing is saved after it.
  std::function<void()> restore_best;
  int64_t save_every = 0;
  bool lines = false;         ///< whether the event of the end is to have TrainEvent::lines
  int64_t sample = 0;         ///< elements to draw after epochs; a model that draws none refuses
  std::string sample_prompt;  ///< what they go on from
};

/// What a program reads of the data that it is given.
enum class DataKind : uint8_t {
  nothing,  ///< it draws its own
  corpus,   ///< certain files of text in a folder
  text,     ///< a text, or all texts of a folder
  table,    ///< rows of numbers
};

struct EvaluateOptions {
  std::optional<std::filesystem::path> data;  ///< the corpus, as TrainOptions has it
  Reading reading;                            ///< how the data are read
  /// The part of the corpus: train, valid or test; of any text: all.
  std::string split = "test";
  Notes notes;  ///< of the checkpoint the parameters come from
};

struct GenerateOptions {
  std::string prompt;
  int64_t length = 500;    ///< elements to draw after the prompt
  double temperature = 1;  ///< of the softmax they are drawn from; 0 takes the likeliest
  int64_t top_k = 0;       ///< how many of the likeliest are drawn from; 0: all
  Notes notes;             ///< of the checkpoint the parameters come from
  /// Is told what of the prompt the model does not know, in a line.
  std::function<void(const std::string& line)> remark = {};
  /// Is told of text as it is drawn; returns false to end early.
  std::function<bool(std::string_view text)> write;
};

/// What graph `train` of a model gives: `loss`, and `gradient_norm`, the global norm of these
/// gradients, which are those of the loss before anything is done to them.
Results train_results(Value loss, const Values& gradients);

class Program {
 public:
  virtual ~Program() = default;

  virtual Model& model() = 0;
  /// What the named dims of a graph (`train`, `forward`, ...) stand for.
  virtual Extents extents(std::string_view graph) const = 0;
  /// Inputs of a graph drawn at random, others for another seed; no corpus is needed.
  virtual std::vector<Tensor> random_inputs(std::string_view graph, uint64_t seed) const = 0;
  /// The work of one call of `train` (train_flop) and of `forward` (forward_flop).
  virtual Work work() const = 0;
  /// Whether training validates after every epoch.
  virtual bool validates() const { return false; }
  /// What training and evaluation read.
  virtual DataKind reads() const { return DataKind::nothing; }
  /// The part of the data to evaluate on where nobody says which: what is not trained on.
  virtual std::string default_split() const { return "test"; }
  /// Trains. Throws ErrorKind::check when a loss is not finite.
  virtual void train(Session& session, const TrainOptions& options) const = 0;
  /// How well the model does on a part of its corpus; the first figure is the one that trainings
  /// are compared by. Throws ErrorKind::usage where the model has no corpus or no such part.
  virtual std::vector<Metric> evaluate(Session& session, const EvaluateOptions& options) const;
  /// Draws text, the prompt not repeated. Throws ErrorKind::usage where the model draws none,
  /// ErrorKind::input when the notes lack what it needs.
  virtual void generate(Session& session, const GenerateOptions& options) const;
};

}  // namespace graphc::core

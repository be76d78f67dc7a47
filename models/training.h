// SPDX-License-Identifier: Apache-2.0
// The common part of training loops: counts steps, measures words per second, saves, resumes and
// stops.
//
//   while (training.goes_on()) {
//     training.begin_epoch(steps);
//     while (training.in_epoch()) training.step({.loss = of step training.position().window});
//     if (!training.epoch_is_done()) break;
//     training.end_epoch(...);
//   }
//   training.end();
#pragma once

#include <exception>

#include "models/program.h"
#include "runtime/clock.h"

namespace graphc::core {

/// One step of a training.
struct TrainStep {
  double loss = 0;    ///< nats per element
  int64_t words = 0;  ///< predicted elements
  /// The weight of the loss in position().total: the number of predicted elements, if it varies.
  double weight = 1;
  std::optional<double> learning_rate = {}, gradient_norm = {};
  TimeSpan read = {};  ///< when its inputs were made
};

class Training {
 public:
  /// `unit` names the predicted elements.
  Training(const TrainOptions& options, int64_t epochs_of_recipe, Notes notes = {},
           std::string_view unit = "words")
      : options_(options),
        epochs_(options.epochs.value_or(epochs_of_recipe)),
        notes_(std::move(notes)),
        unit_(unit),
        at_(options.from) {
    if (options_.begins) options_.begins(notes_);
  }

  int64_t epochs() const { return epochs_; }
  const TrainPosition& position() const { return at_; }
  /// Whether there is another step: false once epochs or steps are used up or the caller stops the
  /// training.
  bool goes_on() const { return may_step() && at_.epoch < epochs_ && !gave_up(); }
  /// Whether the epoch has another step that may run.
  bool in_epoch() const { return may_step() && at_.window < epoch_steps_; }
  bool epoch_is_done() const { return at_.window >= epoch_steps_; }
  /// Whether validations have not improved for as long as `patience` allows.
  bool gave_up() const { return options_.patience > 0 && at_.waited >= options_.patience; }
  /// Whether all epochs are complete, or no more are wanted.
  bool is_done() const { return at_.epoch >= epochs_ || gave_up(); }
  /// Whether to run the final test: training is complete, in this process or before.
  bool wants_test() const { return is_done() && at_.epoch > 0 && at_.window == 0; }

  /// Begins the epoch of position(), or the rest of it; an epoch has `steps` steps. Throws
  /// ErrorKind::input if more than that are complete, because then the data have changed.
  void begin_epoch(int64_t steps);
  /// Runs a step with prepared inputs and returns its result. An ErrorKind::check, thrown by a
  /// session that checks its results, is rethrown with a note of the step and the epoch. Before
  /// that, if a step was completed since the training began, options.save() saves the position
  /// before the step: such a session has restored its states to it.
  template <typename Run>
  auto checked(Run run) {
    waited_.ended = steady_seconds();
    return noted(
        run, [&] { return fmt::format("in step {} of epoch {}", at_.step + 1, at_.epoch + 1); });
  }
  /// The same for an evaluation after an epoch's last step or after the last epoch.
  template <typename Run>
  auto evaluated(Run run) {
    const int64_t done = at_.epoch + (at_.window > 0 ? 1 : 0);
    return noted(run, [&] { return fmt::format("in the evaluation after epoch {}", done); });
  }
  /// Records a step. Throws ErrorKind::check if its loss is not finite.
  void step(const TrainStep& step);
  /// Records a validation loss, before the end of its epoch: updates position().best, stalls and
  /// waited.
  void validated(double loss);
  /// Ends the epoch, with its metrics ("train_perplexity") and those of the validation
  /// ("valid_perplexity"), if any. `sample` draws a text, which may be empty, after they are
  /// reported.
  void end_epoch(std::vector<Metric> train, std::vector<Metric> validation,
                 const std::function<std::string()>& sample = {});
  /// Ends the training; `test`, if given, returns metrics of a test ("test_perplexity"), of the
  /// best model if the options restore it, and `lines` the lines to plot.
  void end(const std::function<std::vector<Metric>()>& test = {},
           const std::function<std::vector<TrainLine>()>& lines = {});

 private:
  template <typename Run, typename When>
  auto noted(const Run& run, const When& when) {
    try {
      return run();
    } catch (Error& error) {
      if (error.kind() == ErrorKind::check) failed(error, when());
      throw;
    }
  }
  void failed(Error& error, const std::string& when);
  bool may_step() const { return !stopped_ && at_.step < options_.max_steps; }
  TrainEvent event(std::string name) const;
  /// Reports an event. An Error of the receiver is rethrown by rethrow(), after everything is
  /// saved.
  void tell(const TrainEvent& event);
  void rethrow();
  void save();

  const TrainOptions& options_;
  int64_t epochs_;
  Notes notes_;
  std::string_view unit_;
  TrainPosition at_;
  int64_t epoch_steps_ = 0, words_ = 0;
  double began_ = 0;
  TimeSpan waited_;  ///< of the current step, see TrainEvent
  std::optional<double> learning_rate_, words_per_s_;
  bool stopped_ = false;
  bool is_best_ = false;       ///< the last validation was the best so far
  std::exception_ptr untold_;  ///< an error of the receiver of an event
  bool restored_ = false;      ///< the session has the best model, no longer the last one
};

}  // namespace graphc::core

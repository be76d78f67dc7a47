// SPDX-License-Identifier: Apache-2.0
// What every training loop does: counts steps, measures words per second, saves, goes on from where
// it was, stops when it must.
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
  double loss = 0;    ///< nats an element
  int64_t words = 0;  ///< elements that were predicted
  /// How often position().total counts the loss: where steps predict different numbers of
  /// elements, these.
  double weight = 1;
  std::optional<double> learning_rate = {}, gradient_norm = {};
  TimeSpan read = {};  ///< when its inputs were made
};

class Training {
 public:
  /// `unit` names what is predicted, one by one.
  Training(const TrainOptions& options, int64_t epochs_of_recipe, Notes notes = {},
           std::string_view unit = "words")
      : options_(options),
        epochs_(options.epochs.value_or(epochs_of_recipe)),
        notes_(std::move(notes)),
        unit_(unit),
        at_(options.from) {}

  int64_t epochs() const { return epochs_; }
  const TrainPosition& position() const { return at_; }
  /// Whether there is another step: false once epochs or steps are used up, or the caller wants an
  /// end.
  bool goes_on() const { return may_step() && at_.epoch < epochs_ && !gave_up(); }
  /// Whether the epoch has another step that may be done.
  bool in_epoch() const { return may_step() && at_.window < epoch_steps_; }
  bool epoch_is_done() const { return at_.window >= epoch_steps_; }
  /// Whether validations were no better for as long as the caller has patience.
  bool gave_up() const { return options_.patience > 0 && at_.waited >= options_.patience; }
  /// Whether every epoch was done to its end, or no more are wanted.
  bool is_done() const { return at_.epoch >= epochs_ || gave_up(); }
  /// Whether what was learned is to be tested: training is done, in this process or before it.
  bool wants_test() const { return is_done() && at_.epoch > 0 && at_.window == 0; }

  /// Begins the epoch of position(), or what is left of it; all of it has so many steps. Throws
  /// ErrorKind::input when more of them are done than there are: the data are others.
  void begin_epoch(int64_t steps);
  /// Runs a step, whose inputs are made, and returns what it gives. An ErrorKind::check of it, of a
  /// session that checks what it computes, is thrown on with a note of the step and the epoch,
  /// after options.save() has been given the position before the step, if a step was done since the
  /// training began: such a session has its states as they were then.
  template <typename Run>
  auto checked(Run run) {
    waited_.ended = steady_seconds();
    return noted(
        run, [&] { return fmt::format("in step {} of epoch {}", at_.step + 1, at_.epoch + 1); });
  }
  /// The same of an evaluation after an epoch's last step, or after the last epoch.
  template <typename Run>
  auto evaluated(Run run) {
    const int64_t done = at_.epoch + (at_.window > 0 ? 1 : 0);
    return noted(run, [&] { return fmt::format("in the evaluation after epoch {}", done); });
  }
  /// After a step. Throws ErrorKind::check when its loss is not finite.
  void step(const TrainStep& step);
  /// Takes in a loss on validation data, before the end of its epoch: position().best, stalls and
  /// waited.
  void validated(double loss);
  /// After the epoch's last step, with figures of it ("train_perplexity") and of validation
  /// ("valid_perplexity"), as far as there are any. `sample` draws a text, which may be empty, once
  /// they are told.
  void end_epoch(std::vector<Metric> train, std::vector<Metric> validation,
                 const std::function<std::string()>& sample = {});
  /// After the last epoch; `test`, if there is one, gives figures of a test ("test_perplexity"), of
  /// the best model where the options restore that, and `lines` what to draw of it.
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
  /// Reports an event. An Error of those who are told is thrown by rethrow(), once all is saved.
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
  TimeSpan waited_;  ///< of the present step, as TrainEvent has it
  std::optional<double> learning_rate_, words_per_s_;
  bool stopped_ = false;
  bool is_best_ = false;       ///< the last validation was the best so far
  std::exception_ptr untold_;  ///< why an event could not be reported
  bool restored_ = false;      ///< the session has the best model, and is no more where training is
};

}  // namespace graphc::core

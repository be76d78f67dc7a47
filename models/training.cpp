// SPDX-License-Identifier: Apache-2.0
#include "models/training.h"

#include <algorithm>
#include <cmath>

#include "models/data_notes.h"
#include "runtime/clock.h"

namespace graphc::core {

TrainEvent Training::event(std::string name) const {
  TrainEvent event{.event = std::move(name), .epoch = at_.epoch, .step = at_.step};
  event.epochs = epochs_;
  event.epoch_step = at_.window;
  event.epoch_steps = epoch_steps_;
  event.learning_rate = learning_rate_;
  event.words_per_s = words_per_s_;
  event.unit = unit_;
  return event;
}

void Training::save() {
  if (options_.save) options_.save(at_, notes_);
}

void Training::tell(const TrainEvent& event) {
  if (!options_.report || untold_) return;
  try {
    options_.report(event);
  } catch (const Error&) {
    // For example a log on a full disk: what was learned is saved before training ends.
    untold_ = std::current_exception();
  }
}

void Training::rethrow() {
  if (!untold_) return;
  try {
    save();
  } catch (const Error&) {
    // Probably the same disk: the previous checkpoint stays, and the first error is reported.
  }
  std::rethrow_exception(untold_);
}

void Training::begin_epoch(int64_t steps) {
  if (at_.window > steps) {
    throw other_data_error(
        fmt::format("it stands after step {} of an epoch, which has {}", at_.window, steps));
  }
  epoch_steps_ = steps;
  words_ = 0;
  learning_rate_.reset();
  words_per_s_.reset();
  began_ = steady_seconds();
  waited_.began = began_;
}

void Training::step(const TrainStep& step) {
  const double loss = step.loss;
  ++at_.step;
  ++at_.window;
  at_.total += step.weight * loss;
  learning_rate_ = step.learning_rate;
  words_ += step.words;
  if (words_ > 0) words_per_s_ = double(words_) / (steady_seconds() - began_);
  if (!std::isfinite(loss)) {
    throw Error(
        ErrorKind::check, {},
        fmt::format("the loss is {} at step {} of epoch {}: training stops",
                    std::isnan(loss) ? "nan" : fmt::to_string(loss), at_.step, at_.epoch + 1));
  }
  TrainEvent now = event("step");
  now.loss = loss;
  now.gradient_norm = step.gradient_norm;
  now.read = step.read;
  now.waited = waited_;
  tell(now);
  rethrow();
  if (options_.stop && options_.stop()) stopped_ = true;
  // The end of the epoch and of training save too, after their evaluations.
  if (options_.save_every > 0 && at_.step % options_.save_every == 0 && in_epoch()) save();
  waited_.began = steady_seconds();
}

void Training::failed(Error& error, const std::string& when) {
  error.note(when + ": training stops");
  if (at_.step > options_.from.step && !restored_) save();
}

void Training::validated(double loss) {
  is_best_ = loss < at_.best;
  if (is_best_) {
    at_.best = loss;
    at_.waited = 0;
  } else {
    ++at_.stalls;
    ++at_.waited;
  }
}

void Training::end_epoch(std::vector<Metric> train, std::vector<Metric> validation,
                         const std::function<std::string()>& sample) {
  TrainEvent now = event("epoch");
  now.metrics = std::move(train);
  tell(now);
  if (!validation.empty()) {
    now.event = "evaluation";
    now.words_per_s.reset();
    now.metrics = std::move(validation);
    tell(now);
  }
  if (options_.report && sample) {
    TrainEvent drawn = event("sample");
    drawn.text = sample();
    if (!drawn.text.empty()) tell(drawn);
  }
  ++at_.epoch;
  at_.window = 0;
  at_.total = 0;
  if (is_best_ && options_.keep_best) options_.keep_best(at_, notes_);
  is_best_ = false;
  rethrow();
  if (goes_on()) save();
}

void Training::end(const std::function<std::vector<Metric>()>& test,
                   const std::function<std::vector<TrainLine>()>& lines) {
  save();
  std::vector<Metric> figures;
  if (test) {
    restored_ = options_.restore_best != nullptr;
    if (restored_) options_.restore_best();
    figures = evaluated(test);
  }
  if (!options_.report) return;
  TrainEvent now = event("end");
  now.words_per_s.reset();
  now.learning_rate.reset();
  if (gave_up())
    now.text = fmt::format("{} validations were no better than the best before", at_.waited);
  // After the last epoch, the event belongs to the last one.
  const int64_t last = gave_up() && at_.window == 0 ? at_.epoch - 1 : epochs_ - 1;
  now.epoch = std::max<int64_t>(0, std::min(at_.epoch, last));
  now.metrics = std::move(figures);
  if (lines) now.lines = lines();
  options_.report(now);
}

}  // namespace graphc::core

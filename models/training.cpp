// SPDX-License-Identifier: Apache-2.0
#include "models/training.h"

#include <cmath>

#include "runtime/clock.h"

namespace graphc {

TrainEvent Training::event(std::string name) const {
  TrainEvent event{.event = std::move(name), .epoch = epoch_, .step = steps_};
  event.learning_rate = learning_rate_;
  event.words_per_s = words_per_s_;
  return event;
}

void Training::begin_epoch(int64_t epoch, std::optional<double> learning_rate) {
  epoch_ = epoch;
  learning_rate_ = learning_rate;
  words_ = 0;
  words_per_s_.reset();
  began_ = steady_seconds();
}

void Training::step(double loss, int64_t words) {
  ++steps_;
  words_ += words;
  if (words_ > 0) words_per_s_ = double(words_) / (steady_seconds() - began_);
  if (!std::isfinite(loss)) {
    throw Error(
        ErrorKind::check, {},
        fmt::format("the loss is {} at step {} of epoch {}: training stops", loss, steps_, epoch_));
  }
  if (options_.report) {
    TrainEvent now = event("step");
    now.loss = loss;
    options_.report(now);
  }
  if (options_.stop && options_.stop()) stopped_ = true;
}

void Training::end_epoch(std::optional<double> train_perplexity,
                         std::optional<double> valid_perplexity) {
  if (!options_.report) return;
  TrainEvent now = event("epoch");
  now.train_perplexity = train_perplexity;
  options_.report(now);
  if (!valid_perplexity) return;
  TrainEvent evaluation = event("evaluation");
  evaluation.words_per_s.reset();
  evaluation.valid_perplexity = valid_perplexity;
  options_.report(evaluation);
}

void Training::end(std::optional<double> test_perplexity) {
  if (!options_.report) return;
  TrainEvent now = event("end");
  now.words_per_s.reset();
  now.learning_rate.reset();
  now.test_perplexity = test_perplexity;
  options_.report(now);
}

}  // namespace graphc

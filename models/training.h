// SPDX-License-Identifier: Apache-2.0
// What every training loop does: counts steps, measures words per second, stops when it must.
#pragma once

#include "models/program.h"

namespace graphc {

class Training {
 public:
  Training(const TrainOptions& options, int64_t epochs_of_recipe)
      : options_(options), epochs_(options.epochs.value_or(epochs_of_recipe)) {}

  int64_t epochs() const { return epochs_; }
  /// False once the steps are used up or the caller wants an end.
  bool goes_on() const { return !stopped_ && steps_ < options_.max_steps; }

  void begin_epoch(int64_t epoch, std::optional<double> learning_rate = {});
  /// After a step that predicted `words` elements at `loss` nats each. Throws ErrorKind::check when
  /// the loss is not finite.
  void step(double loss, int64_t words);
  /// After the epoch's last step.
  void end_epoch(std::optional<double> train_perplexity, std::optional<double> valid_perplexity);
  /// After the last epoch.
  void end(std::optional<double> test_perplexity);

 private:
  TrainEvent event(std::string name) const;

  const TrainOptions& options_;
  int64_t epochs_;
  int64_t epoch_ = 0, steps_ = 0, words_ = 0;
  double began_ = 0;
  std::optional<double> learning_rate_, words_per_s_;
  bool stopped_ = false;
};

}  // namespace graphc

// SPDX-License-Identifier: Apache-2.0
// Program: a workload that can be called by name: a model, what it is called with, and how it is
// trained.
#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "frontend/model.h"
#include "frontend/session.h"

namespace graphc {

/// The nominal work of one call: what speeds are counted in.
struct Work {
  int64_t examples = 0;  ///< sequences, the batch
  int64_t words = 0;     ///< predicted elements; 0 where nothing of the kind is predicted
  double forward_flop = 0;
  double train_flop = 0;  ///< forward, backward and what else the nominal count has
};

/// What happened in training; fields that do not apply are absent.
struct TrainEvent {
  std::string event;           ///< step, epoch, evaluation, end
  int64_t epoch = 0;           ///< from 0
  int64_t step = 0;            ///< steps done since the beginning
  std::optional<double> loss;  ///< nats per predicted element, or the loss where none is predicted
  std::optional<double> learning_rate;
  std::optional<double> words_per_s;  ///< since the epoch began
  std::optional<double> train_perplexity, valid_perplexity, test_perplexity;
};

struct TrainOptions {
  std::optional<std::filesystem::path> data;  ///< the folder of the corpus, where there is one
  std::optional<int64_t> epochs;              ///< the recipe's when absent
  int64_t max_steps = std::numeric_limits<int64_t>::max();
  std::function<void(const TrainEvent&)> report;  ///< told of every event
  std::function<bool()> stop;  ///< asked after every step; true ends the training
};

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
  /// Trains. Throws ErrorKind::check when a loss is not finite.
  virtual void train(Session& session, const TrainOptions& options) const = 0;
};

}  // namespace graphc

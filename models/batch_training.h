// SPDX-License-Identifier: Apache-2.0
// Training on batches whose order depends on the epoch: shuffled samples, drawn sequences.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/session.h"
#include "models/program.h"

namespace graphc::core {

/// The batches of an epoch or of an evaluation.
struct Batches {
  /// The number of elements that each batch predicts; its loss is the mean over them.
  std::vector<int64_t> elements;
  /// The inputs of the graph for batch `index`.
  std::function<std::vector<Tensor>(int64_t index)> inputs;

  int64_t count() const { return int64_t(elements.size()); }
};

/// Splits `order` into batches of `batch` samples; the last one has the remainder.
Batches batches_of(std::vector<int64_t> order, int64_t batch,
                   std::function<std::vector<Tensor>(std::span<const int64_t> samples)> inputs);

struct BatchTask {
  /// The batches of an epoch, determined by it. Called, and makes inputs, on a separate thread.
  std::function<Batches(int64_t epoch)> epoch;
  int64_t epochs = 1;                 ///< of the recipe
  Notes notes;                        ///< for checkpoints
  std::string_view unit = "samples";  ///< the name of the elements
  /// Metrics after each epoch and after the last one; optional.
  std::function<std::vector<Metric>()> validate = {}, test = {};
  /// Lines to plot at the end, in addition to the test.
  std::function<std::vector<TrainLine>()> lines = {};
  std::function<std::string(int64_t epoch)> sample = {};  ///< a text to report after an epoch
};

/// Trains with graph `train`, which returns train_results(), and reports `train_loss`, the mean
/// over the elements of an epoch.
void train_on_batches(Session& session, const TrainOptions& options, const BatchTask& task);

/// The results of a graph with these names, as means over the elements of all batches.
std::vector<Metric> mean_results(Session& session, const std::string& graph, const Batches& batches,
                                 const std::vector<std::string>& results);

/// The metrics with `prefix` before their names.
std::vector<Metric> prefixed(const std::string& prefix, std::vector<Metric> metrics);

/// Throws ErrorKind::usage if the model `who`, which draws its own data, is given any.
void refuse_data(const char* who, const std::optional<std::filesystem::path>& data);

}  // namespace graphc::core

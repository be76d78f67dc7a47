// SPDX-License-Identifier: Apache-2.0
// Training on batches that an epoch has in an order of its own: samples that are shuffled,
// sequences that are drawn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontend/session.h"
#include "models/program.h"

namespace graphc::core {

/// The batches of an epoch, or of an evaluation.
struct Batches {
  /// What each of them predicts; its loss is the mean over these.
  std::vector<int64_t> elements;
  /// The inputs of the graph for batch `index`.
  std::function<std::vector<Tensor>(int64_t index)> inputs;

  int64_t count() const { return int64_t(elements.size()); }
};

/// `order` cut into batches of `batch` samples, the last one of those that are left.
Batches batches_of(std::vector<int64_t> order, int64_t batch,
                   std::function<std::vector<Tensor>(std::span<const int64_t> samples)> inputs);

struct BatchTask {
  /// Equal epochs, equal batches. It is called, and makes inputs, in a thread of its own.
  std::function<Batches(int64_t epoch)> epoch;
  int64_t epochs = 1;                 ///< of the recipe
  Notes notes;                        ///< what a checkpoint tells beside arrays
  std::string_view unit = "samples";  ///< what the elements are called
  /// Figures after each epoch and after the last one; none where absent.
  std::function<std::vector<Metric>()> validate = {}, test = {};
  /// What to draw at the end, beside the test.
  std::function<std::vector<TrainLine>()> lines = {};
  std::function<std::string(int64_t epoch)> sample = {};  ///< a text to report after an epoch
};

/// Trains by graph `train`, which gives train_results(), and reports `train_loss`, the mean over
/// the elements of an epoch.
void train_on_batches(Session& session, const TrainOptions& options, const BatchTask& task);

/// The results of a graph, by these names, as means over the elements of all batches.
std::vector<Metric> mean_results(Session& session, const std::string& graph, const Batches& batches,
                                 const std::vector<std::string>& results);

/// The metrics with `prefix` before their names.
std::vector<Metric> prefixed(const std::string& prefix, std::vector<Metric> metrics);

/// Throws ErrorKind::usage when the model `who`, which draws its data, is given any.
void refuse_data(const char* who, const std::optional<std::filesystem::path>& data);

}  // namespace graphc::core

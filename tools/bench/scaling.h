// SPDX-License-Identifier: Apache-2.0
// A model of training on several ranks, from the steps that this machine measures and a network.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/bench/measure.h"
#include "tools/bench/network.h"

namespace graphc::core::bench {

/// A step on some ranks, each a machine like this one.
struct ScaledStep {
  int64_t batch = 0;     ///< of all ranks
  double compute_s = 0;  ///< measured: a step with the batch of one rank
  double exchange_s = 0;
  /// The step if nothing of the exchange runs beside the computation, and if as much of it does as
  /// fits beside the backward pass, two thirds of the step.
  double longest_s() const { return compute_s + exchange_s; }
  double shortest_s() const { return std::max(longest_s() - compute_s * 2 / 3, compute_s); }
};

/// One line: the batch of the model divided among the ranks, and as large a batch for each rank.
struct ScaledRow {
  int ranks = 1;
  int64_t exchanges = 0;
  double megabytes = 0;  ///< that a rank sends in a step of the divided batch
  ScaledStep strong, weak;
};

struct ScalingRequest {
  std::string model;
  std::vector<std::string> parameters;
  std::string target;
  CompileOptions compile;
  std::vector<int> ranks;  ///< in ascending order
  Network network;
};

/// The numbers of ranks of a list "1,2,4". Throws ErrorKind::usage.
std::vector<int> rank_counts(const std::string& text);

/// Measures steps with the batch of each number of ranks, and models the rest. Throws
/// ErrorKind::usage if a number of ranks does not divide the batch, or the model has none.
std::vector<ScaledRow> model_scaling(const ScalingRequest& request, const Settings& settings);

std::string table(const std::vector<ScaledRow>& rows, const ScalingRequest& request, bool markdown);
nlohmann::ordered_json to_json(const std::vector<ScaledRow>& rows, const ScalingRequest& request);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// The pass replicate, for callers in C++.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "passes/pass.h"

namespace graphc::core {

/// Whose graph is made.
struct Replication {
  int64_t ranks = 1, rank = 0;
  /// The batch is cut into as many shards, a power of two that the ranks divide, and the bits of
  /// results depend on their number alone. 0: as many as ranks.
  int64_t shards = 0;
  /// Gradients of f32 are sent in bf16 (ops::all_reduce). Not with `shards`: what is rounded
  /// depends on the number of ranks.
  DType gradients = DType::f32;
  /// For each input the axis of the batch, or -1 for an input that every rank needs whole. Further
  /// inputs are whole.
  std::vector<int> axes;
};

/// The graph of one rank: inputs, states and results are those of the whole batch, and the rank
/// computes them from its own rows and collectives. Throws ErrorKind::usage for numbers that do not
/// fit each other, ErrorKind::input for an input whose batch the shards do not divide.
GraphPtr replicated(const GraphPtr& graph, const Replication& how, Remarks& remarks);

}  // namespace graphc::core

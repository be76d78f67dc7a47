// SPDX-License-Identifier: Apache-2.0
// What follows a product in its kernel, and should rather be with those who read it.
#pragma once

#include "ir/graph.h"
#include "passes/kernels/clusters.h"

namespace graphc::core {

/// Members of clusters with a product, by node id, without which fewer bytes are stored: where
/// several values made of the product are stored, for readers that could make them themselves, and
/// the product alone would do. An optimizer with moments reads a gradient and its square: stored
/// are then not both, but the gradient.
std::vector<bool> better_with_readers(const Graph& graph, const Clusters& clusters);

}  // namespace graphc::core

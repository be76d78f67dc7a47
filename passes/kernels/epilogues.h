// SPDX-License-Identifier: Apache-2.0
// Elementwise work that follows a product in its kernel, but is better computed in its consumers.
#pragma once

#include "ir/graph.h"
#include "passes/kernels/clusters.h"

namespace graphc::core {

/// Members of clusters with a product, by node id, without which fewer bytes are stored: several
/// values computed from the product are stored for readers that could compute them, and storing the
/// product alone would suffice. An optimizer with moments reads a gradient and its square; then
/// only the gradient is stored.
std::vector<bool> better_with_readers(const Graph& graph, const Clusters& clusters);

}  // namespace graphc::core

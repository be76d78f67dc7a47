// SPDX-License-Identifier: Apache-2.0
// Forming kernels: nodes that one nest list can compute together become one `kernel` node.
#pragma once

#include <functional>
#include <string>

#include "ir/graph.h"

namespace graphc::core {

struct FuseOptions {
  bool fuse = true;       ///< false: one kernel per node (variant `basic`)
  bool recurrent = true;  ///< whether scans of rows become `recurrent` kernels
  /// Told why a scan is a loop; may be empty.
  std::function<void(const Node& node, const std::string& text)> remark;
};

/// True for nodes that only say where elements lie: no kernel computes them.
bool is_view(const Node& node);

/// Groups nodes into `kernel` nodes with attribute `family`: `map`, `gemm`, `recurrent`, `rows`.
/// What stays outside are leaves, views, casts that only widen what products and sums over the rows
/// read, and scans of family `loop`, whose bodies are treated alike.
/// Expects reductions lowered.
GraphPtr form_kernels(const GraphPtr& graph, const FuseOptions& options);

/// Reductions along the last axis (kept) or over the leading axis of a matrix, here and in regions.
GraphPtr lower_reductions(const GraphPtr& graph);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Kernel formation: nodes that one list of nests can compute together become one `kernel` node.
#pragma once

#include <functional>
#include <string>

#include "ir/graph.h"

namespace graphc::core {

struct FuseOptions {
  bool fuse = true;       ///< false: one kernel per node (variant `basic`)
  bool recurrent = true;  ///< whether scans of rows become `recurrent` kernels
  bool siblings = false;  ///< ClusterOptions::siblings, of this graph alone
  /// Called with the reason why a scan stays a loop; may be empty.
  std::function<void(const Node& node, const std::string& text)> remark;
};

/// Whether the node only changes the addressing of elements: no kernel computes it.
bool is_view(const Node& node);

/// Groups nodes into `kernel` nodes, whose attribute `family` (ir/kernel_family.h) says what they
/// are; Kernel (passes/kernels/kernel.h) has the row model of each.
/// Leaves, views, casts that only widen operands of products and sums over rows, and scans of
/// family `loop` (whose bodies are treated alike) stay outside. Expects lowered reductions.
GraphPtr form_kernels(const GraphPtr& graph, const FuseOptions& options);

/// Lowers reductions to the last axis (kept) or the leading axis of a matrix, including in regions.
GraphPtr lower_reductions(const GraphPtr& graph);

}  // namespace graphc::core

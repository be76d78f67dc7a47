// SPDX-License-Identifier: Apache-2.0
// Reverse mode on a graph under construction: shared by autodiff.cpp and autodiff_scan.cpp.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// A scan and its replacement with the same operands, steps and results, plus further emits for the
/// backward loop. Both are in the graph until merge_forward_scans().
struct ForwardScan {
  const Node* old;
  const Node* with_residuals;
};

/// Counts the users of a value in a graph under construction. Visits each node once per UserCounts.
class UserCounts {
 public:
  int of(Value value);

 private:
  std::map<std::pair<int, int>, int> counts_;
  size_t counted_ = 0;
};

/// What reverse mode has added to a graph so far.
struct ForwardScans {
  std::vector<ForwardScan> list;
  UserCounts users;
};

/// Adds the derivatives of `outputs`, weighted by `cotangents` (absent ones count as zero), with
/// respect to the values `wrt` to `graph`. Absent if there is no path. Scans on the way are added
/// again, with residuals, and listed in `forwards`. Composites without their own derivative must
/// have been replaced by their bodies.
Values backpropagate(Graph& graph, const Values& outputs, const Values& cotangents,
                     const Values& wrt, ForwardScans& forwards);

/// The same for one scan: `dy` are the cotangents of its results (absent: none), `active` tells
/// which operands need a cotangent. Adds the scan with residuals and the backward scan.
Values differentiate_scan(Graph& graph, const Node& scan, std::span<const Value> dy,
                          const std::vector<bool>& active, ForwardScans& forwards);

/// Replaces the old scans by those with residuals and drops dead nodes.
GraphPtr merge_forward_scans(const GraphPtr& graph, const ForwardScans& forwards);

}  // namespace graphc::core

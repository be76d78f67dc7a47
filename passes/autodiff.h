// SPDX-License-Identifier: Apache-2.0
// Reverse mode on a graph under construction: what autodiff.cpp and autodiff_scan.cpp share.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// A scan and the one that takes its place: the same operands, steps and results, and more emits
/// after its emits, which the backward loop reads. Both are in the graph until
/// merge_forward_scans().
struct ForwardScan {
  const Node* old;
  const Node* with_residuals;
};

/// How many nodes of a graph under construction use a value. Each node is looked at once, in the
/// life of this object.
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

/// Adds to `graph` the derivatives of its `outputs`, weighed with `cotangents` (absent ones count
/// as zero), with respect to the values `wrt`. Absent where there is no path. Scans on the way are
/// added once more, with residuals, and listed in `forwards`. Composites without a derivative of
/// their own must have been replaced by their bodies.
Values backpropagate(Graph& graph, const Values& outputs, const Values& cotangents,
                     const Values& wrt, ForwardScans& forwards);

/// The same for one scan: `dy` are the cotangents of its results (absent: none), `active` says of
/// each operand whether its cotangent is wanted. Adds the scan with residuals and the backward
/// scan.
Values differentiate_scan(Graph& graph, const Node& scan, std::span<const Value> dy,
                          const std::vector<bool>& active, ForwardScans& forwards);

/// Puts the scans with residuals where the old ones are and drops what is dead.
GraphPtr merge_forward_scans(const GraphPtr& graph, const ForwardScans& forwards);

}  // namespace graphc::core

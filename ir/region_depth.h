// SPDX-License-Identifier: Apache-2.0
// Nesting depth of regions, which bounds the stack that recursion over a graph needs.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace graphc::core {

/// The maximum nesting of regions in parsed input. Blocks of text may nest a little deeper, so that
/// everything read in one form can be read in every other.
inline constexpr int kMaxRegionDepth = 48;

/// Nesting depths of graphs that share regions; each region is visited once per RegionDepth.
class RegionDepth {
 public:
  /// 0 for a graph without regions, otherwise one more than its deepest region. Recurses only into
  /// regions not visited before.
  int of(const Graph& graph);

  /// Throws ErrorKind::input, without a position, if the depth exceeds kMaxRegionDepth.
  void check(const Graph& graph);

 private:
  std::unordered_map<const Graph*, int> known_;
};

}  // namespace graphc::core

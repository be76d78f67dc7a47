// SPDX-License-Identifier: Apache-2.0
// How deep regions lie inside one another: what recursion over a graph costs in stack.
#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace graphc::core {

/// As deep as regions may nest in what is read. Blocks of text nest a little deeper, so that what
/// is read in one form can be read in every other.
inline constexpr int kMaxRegionDepth = 48;

/// Depths of graphs that share regions: each region is looked at once, in the life of this object.
class RegionDepth {
 public:
  /// 0 for a graph without regions, else one more than the deepest of them. Recurses only into
  /// regions that it was not asked of before.
  int of(const Graph& graph);

  /// Throws ErrorKind::input, without a position, when that is more than kMaxRegionDepth.
  void check(const Graph& graph);

 private:
  std::unordered_map<const Graph*, int> known_;
};

}  // namespace graphc::core

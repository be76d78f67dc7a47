// SPDX-License-Identifier: Apache-2.0
#include "ir/region_depth.h"

#include <algorithm>

#include "ir/error.h"

namespace graphc::core {

int RegionDepth::of(const Graph& graph) {
  if (const auto found = known_.find(&graph); found != known_.end()) return found->second;
  int depth = 0;
  for (const Node& node : graph.nodes())
    for (const GraphPtr& region : node.regions) depth = std::max(depth, 1 + of(*region));
  return known_[&graph] = depth;
}

void RegionDepth::check(const Graph& graph) {
  const int depth = of(graph);
  if (depth > kMaxRegionDepth)
    throw input_error({}, "regions nest at most {} deep: found {}", kMaxRegionDepth, depth);
}

}  // namespace graphc::core

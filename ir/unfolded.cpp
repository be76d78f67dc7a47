// SPDX-License-Identifier: Apache-2.0
#include "ir/unfolded.h"

#include <unordered_map>

namespace graphc::core {
namespace {

/// Counts in double: exact far beyond the limit, and without overflow at 48 levels of regions.
class Unfolded {
 public:
  double nodes_of(const Graph& graph) {
    if (const auto found = known_.find(&graph); found != known_.end()) return found->second;
    double nodes = 0;
    for (const Node& node : graph.nodes()) {
      ++nodes;
      for (const GraphPtr& region : node.regions) nodes += nodes_of(*region);
    }
    written_ += double(graph.nodes().size());
    return known_[&graph] = nodes;
  }
  double written() const { return written_; }

 private:
  std::unordered_map<const Graph*, double> known_;
  double written_ = 0;
};

}  // namespace

void check_unfolded(const Graph& graph) {
  Unfolded unfolded;
  const double nodes = unfolded.nodes_of(graph);
  if (nodes - unfolded.written() <= double(kMaxSharedNodes)) return;
  throw input_error({},
                    "graph @{} is made of {:.0f} nodes, and of {:.3g} with each region written out "
                    "wherever it is used: at most {} more are allowed",
                    graph.name(), unfolded.written(), nodes, kMaxSharedNodes);
}

}  // namespace graphc::core

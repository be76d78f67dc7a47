// SPDX-License-Identifier: Apache-2.0
// Tarjan's algorithm: a component is complete when the search leaves a vertex that reaches no
// earlier one.
#include "passes/components.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace graphc::core {
namespace {

class Search {
 public:
  explicit Search(const std::vector<std::vector<int>>& edges)
      : edges_(edges),
        component_(edges.size(), -1),
        visit_(edges.size(), -1),
        earliest_(edges.size(), -1) {}

  void from(int root) {
    if (visit_[size_t(root)] >= 0) return;
    enter(root);
    while (!path_.empty()) {
      auto& [vertex, next] = path_.back();
      const std::vector<int>& edges = edges_[size_t(vertex)];
      if (next == edges.size()) {
        leave();
        continue;
      }
      const int to = edges[next++];
      if (visit_[size_t(to)] < 0)
        enter(to);
      else if (component_[size_t(to)] < 0)
        reach(vertex, visit_[size_t(to)]);
    }
  }

  std::vector<int> take() { return std::move(component_); }

 private:
  void enter(int vertex) {
    visit_[size_t(vertex)] = earliest_[size_t(vertex)] = visits_++;
    open_.push_back(vertex);
    path_.emplace_back(vertex, 0);
  }

  void reach(int vertex, int visit) {
    earliest_[size_t(vertex)] = std::min(earliest_[size_t(vertex)], visit);
  }

  void leave() {
    const int vertex = path_.back().first;
    path_.pop_back();
    if (!path_.empty()) reach(path_.back().first, earliest_[size_t(vertex)]);
    if (earliest_[size_t(vertex)] != visit_[size_t(vertex)]) return;
    for (int member = -1; member != vertex; open_.pop_back()) {
      member = open_.back();
      component_[size_t(member)] = count_;
    }
    ++count_;
  }

  const std::vector<std::vector<int>>& edges_;
  std::vector<int> component_, visit_, earliest_;
  std::vector<int> open_;                     // visited, not yet in a component
  std::vector<std::pair<int, size_t>> path_;  // with the next edge to follow
  int visits_ = 0, count_ = 0;
};

}  // namespace

std::vector<int> components(const std::vector<std::vector<int>>& edges,
                            const std::vector<int>& roots) {
  Search search(edges);
  for (int root : roots) search.from(root);
  return search.take();
}

}  // namespace graphc::core

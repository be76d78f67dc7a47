// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/cluster_order.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace graphc::core {
namespace {

/// The initial gap between neighbours, and the most that a moved unit takes of it: many units may
/// move before the same unit, one after another.
constexpr int64_t kRoom = int64_t{1} << 36, kTaken = int64_t{1} << 14;

}  // namespace

ClusterOrder::ClusterOrder(const Graph& graph) {
  const size_t count = graph.nodes().size();
  parent_.resize(count);
  std::iota(parent_.begin(), parent_.end(), 0);
  needs_.resize(count);
  label_.resize(count);
  before_.resize(count);
  after_.resize(count);
  seen_.assign(count, 0);
  first_ = count == 0 ? -1 : 0;
  for (const Node& node : graph.nodes()) {
    const size_t id = size_t(node.id);
    for (Value operand : node.operands) needs_[id].push_back(operand.node->id);
    label_[id] = node.id * kRoom;
    before_[id] = node.id - 1;
    after_[id] = id + 1 < count ? node.id + 1 : -1;
  }
}

int ClusterOrder::find(int id) {
  while (parent_[size_t(id)] != id) id = parent_[size_t(id)] = parent_[size_t(parent_[size_t(id)])];
  return id;
}

const std::vector<int>& ClusterOrder::needs_of(int unit) {
  std::vector<int>& needs = needs_[size_t(unit)];
  edges_ += int64_t(needs.size());
  for (int& need : needs) need = find(need);
  std::erase(needs, unit);
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  return needs;
}

bool ClusterOrder::find_between(int early, int late, std::vector<int>& between) {
  const auto behind = [this](int a, int b) { return label_[size_t(a)] > label_[size_t(b)]; };
  // The earliest unit first: it is nearest to where a path would return.
  std::priority_queue<int, std::vector<int>, decltype(behind)> waiting(behind);
  ++searches_;
  const int64_t most = edges_ + kMostEdges;
  const auto visit = [&](int unit) {
    if (seen_[size_t(unit)] == searches_ || behind(early, unit)) return;
    seen_[size_t(unit)] = searches_;
    waiting.push(unit);
  };
  for (int need : needs_of(late)) {
    if (need != early) visit(need);
  }
  while (!waiting.empty()) {
    const int unit = waiting.top();
    waiting.pop();
    between.push_back(unit);
    for (int need : needs_of(unit)) {
      if (need == early) return false;
      visit(need);
    }
    if (edges_ > most) return false;
  }
  std::sort(between.begin(), between.end(), [&](int a, int b) { return behind(b, a); });
  return true;
}

bool ClusterOrder::join(int a, int b) {
  const int early = label_[size_t(a)] < label_[size_t(b)] ? a : b, late = early == a ? b : a;
  std::vector<int> between;
  if (!find_between(early, late, between)) return false;
  move_before(between, early);
  // Merges the unit with fewer edges into the other; the result takes the earlier position.
  const bool into_early = needs_[size_t(early)].size() >= needs_[size_t(late)].size();
  const int kept = into_early ? early : late, gone = into_early ? late : early;
  std::vector<int>& needs = needs_[size_t(kept)];
  needs.insert(needs.end(), needs_[size_t(gone)].begin(), needs_[size_t(gone)].end());
  needs_[size_t(gone)] = {};
  parent_[size_t(gone)] = kept;
  const auto unlink = [this](int unit) {
    const int left = before_[size_t(unit)], right = after_[size_t(unit)];
    (left < 0 ? first_ : after_[size_t(left)]) = right;
    if (right >= 0) before_[size_t(right)] = left;
  };
  unlink(late);
  if (into_early) return true;
  // `late` takes the position of `early`.
  label_[size_t(kept)] = label_[size_t(gone)];
  const int left = before_[size_t(gone)], right = after_[size_t(gone)];
  before_[size_t(kept)] = left;
  after_[size_t(kept)] = right;
  (left < 0 ? first_ : after_[size_t(left)]) = kept;
  if (right >= 0) before_[size_t(right)] = kept;
  return true;
}

void ClusterOrder::move_before(const std::vector<int>& units, int place) {
  if (units.empty()) return;
  for (int unit : units) {
    // Never the first unit: `place` is before it.
    const int left = before_[size_t(unit)], right = after_[size_t(unit)];
    after_[size_t(left)] = right;
    if (right >= 0) before_[size_t(right)] = left;
  }
  int left = before_[size_t(place)];
  int64_t label = left < 0 ? label_[size_t(place)] - kRoom : label_[size_t(left)];
  const int64_t room = label_[size_t(place)] - label;
  const int64_t step = std::min(kTaken, room / int64_t(units.size() + 1));
  for (int unit : units) {
    label_[size_t(unit)] = label += step;
    before_[size_t(unit)] = left;
    (left < 0 ? first_ : after_[size_t(left)]) = unit;
    left = unit;
  }
  after_[size_t(left)] = place;
  before_[size_t(place)] = left;
  if (step == 0) renumber();
}

void ClusterOrder::renumber() {
  int64_t label = 0;
  for (int unit = first_; unit >= 0; unit = after_[size_t(unit)])
    label_[size_t(unit)] = label += kRoom;
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "passes/divided_step.h"

#include <algorithm>
#include <memory>

#include "ir/build.h"
#include "ir/scan.h"
#include "passes/cut.h"

namespace graphc::core {
namespace {

/// How many values of type `part`, concatenated along the last axis, make one of type `whole`; 0 if
/// none do.
int64_t parts_of(const Type& whole, const Type& part) {
  const int rank = part.shape.rank();
  if (part.dtype != whole.dtype || rank < 1 || whole.shape.rank() != rank) return 0;
  for (int axis = 0; axis < rank - 1; ++axis) {
    if (part.shape[axis] != whole.shape[axis]) return 0;
  }
  const int64_t width = part.shape[rank - 1], all = whole.shape[rank - 1];
  return width > 0 && all % width == 0 ? all / width : 0;
}

/// The cost for the backward step of computing what only it needs. A reduction rereads its whole
/// operand, which the forward step has at hand and usually reduces itself in the same
/// normalisation.
int64_t cost_of_own(const Node& node) {
  const bool reduces = node.is(ops::sum) || node.is(ops::max) || node.is(ops::mean);
  return reduces ? cost_of_storing(node.operands[0].type()) : 0;
}

/// For each node, the number of products, reductions and the like on the longest path to it.
std::vector<int> depths(const Graph& graph) {
  std::vector<int> depths(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    int& depth = depths[size_t(node.id)];
    for (Value operand : node.operands) depth = std::max(depth, depths[size_t(operand.node->id)]);
    if (is_heavy(node)) ++depth;
  }
  return depths;
}

/// A loop that keeps its initial carries alone is computed again from them (remat.cpp).
bool is_repeated_loop(const Node& node) {
  if (!node.is(ops::scan)) return false;
  const Scan scan(node);
  return scan.save_every() >= scan.steps() && scan.steps() > 0;
}

}  // namespace

DividedStep::DividedStep(JointStep joint) : joint_(std::move(joint)) {
  cut();
  if (const std::vector<Values> found = groups(); !found.empty()) {
    put_side_by_side(found);
    cut();
  }
}

Values DividedStep::results(size_t first, size_t count) const {
  const auto begin = graph().results().begin() + long(first);
  return {begin, begin + long(count)};
}

Values DividedStep::gradients() const {
  const size_t first = joint_.carries + joint_.emits;
  return results(first, graph().results().size() - first);
}

Values DividedStep::cotangents() const {
  return {graph().inputs().begin() + long(joint_.inputs), graph().inputs().end()};
}

bool DividedStep::is_carry(Value value) const {
  return input(value) >= joint_.streams && input(value) < joint_.streams + joint_.carries;
}

bool DividedStep::is_capture(Value value) const {
  return input(value) >= joint_.streams + joint_.carries && input(value) < joint_.inputs;
}

Value DividedStep::source_of(Value value) const {
  if (!is_carry(value) || is_emitted(value)) return value;
  return graph().results()[input(value) - joint_.streams];
}

void DividedStep::cut() {
  inputs_ = ValueSet(graph().inputs());
  const std::vector<bool> backward = dependents(graph(), cotangents());
  const std::vector<bool> forward = this->forward();
  const std::vector<bool> wanted_at_all = needed_for(graph(), gradients());
  CutProblem problem;
  for (const Node& node : graph().nodes()) {
    if (!backward[size_t(node.id)] || !wanted_at_all[size_t(node.id)]) continue;
    for (Value operand : node.operands) {
      if (!backward[size_t(operand.node->id)]) problem.wanted.push_back(operand);
    }
  }
  for (Value gradient : gradients()) {
    if (!backward[size_t(gradient.node->id)]) problem.wanted.push_back(gradient);
  }
  problem.repeat = [&](const Node& node) -> int64_t {
    if (!forward[size_t(node.id)]) return cost_of_own(node);
    return is_heavy(node) && !is_repeated_loop(node) ? never : cost_of_repeating(node);
  };
  problem.store = [&](Value value) { return price(value); };
  set_emitted();
  // A carry saved by the first cut makes its `next` emitted, hence free in the second.
  for (Value value : minimum_cut(graph(), problem)) {
    if (is_carry(value)) emit(source_of(value));
  }
  saved_ = minimum_cut(graph(), problem);
  set_emitted();
  for (Value value : saved_) {
    if (is_carry(value) || !value.node->is(ops::input)) emit(source_of(value));
  }
}

/// Captured and emitted values are available; constants are recreated.
int64_t DividedStep::price(Value value) const {
  if (value.node->is(ops::constant) || value.node->is(ops::iota)) return never;
  if (is_capture(value)) return 0;
  const size_t stream = input(value);
  if (stream < joint_.streams)
    return joint_.overwritten[stream] ? cost_of_storing(value.type()) : 0;
  return is_emitted(source_of(value)) ? 0 : cost_of_storing(value.type());
}

/// Saved values of one type and one depth: values before and after a product are stored in
/// different stages of a step, hence apart.
struct DividedStep::Alike {
  Type type;
  int depth = 0;
  Values values;
};

/// All except those stored anyway: inputs, carries, and values emitted for others.
std::vector<DividedStep::Alike> DividedStep::saved_alike() const {
  const ValueSet at_hand(forward_results());
  const std::vector<int> depth = depths(graph());
  std::vector<Alike> found;
  for (Value value : saved_) {
    if (value.node->is(ops::input) || at_hand.contains(value)) continue;
    const int own = depth[size_t(value.node->id)];
    auto same = std::ranges::find_if(found, [&](const Alike& other) {
      return other.type == value.type() && other.depth == own;
    });
    if (same == found.end()) same = found.insert(same, {value.type(), own, {}});
    same->values.push_back(value);
  }
  return found;
}

std::vector<Values> DividedStep::groups() const {
  const ValueSet saved(saved_);
  std::vector<Alike> rest = saved_alike();
  std::vector<Values> groups;
  for (size_t i = 0; i < joint_.streams; ++i) {
    const Value stream = graph().inputs()[i];
    if (!joint_.overwritten[i] || saved.contains(stream)) continue;
    for (Alike& alike : rest) {
      const int64_t count = parts_of(stream.type(), alike.type);
      if (count < 2 || int64_t(alike.values.size()) < count) continue;
      const auto end = alike.values.begin() + count;
      groups.emplace_back(alike.values.begin(), end);
      alike.values.erase(alike.values.begin(), end);
      break;
    }
  }
  return groups;
}

std::vector<bool> DividedStep::computed_again(const std::vector<Values>& groups) const {
  ValueSet grouped;
  for (const Values& group : groups) {
    for (Value value : group) grouped.add(value);
  }
  const ValueSet at_hand(forward_results());
  const std::vector<bool> forward = this->forward();
  std::vector<bool> again(graph().nodes().size());
  for (const Node& node : graph().nodes()) {
    if (!forward[size_t(node.id)] || is_heavy(node)) continue;
    const bool is_kept = std::ranges::any_of(results_of(node), [&](Value value) {
      return is_emitted(value) || at_hand.contains(value);
    });
    again[size_t(node.id)] = !is_kept && std::ranges::any_of(node.operands, [&](Value operand) {
      return grouped.contains(operand) || again[size_t(operand.node->id)];
    });
  }
  return again;
}

/// From now on backward nodes read slices of the concatenations.
void DividedStep::put_side_by_side(const std::vector<Values>& groups) {
  auto to = std::make_unique<Graph>(graph().name());
  ValueMap first(graph()), later(graph());
  for (Value input : graph().inputs())
    first.set(input, to->input(input.type(), input.name(), input.node->where));
  Values results = copy_cone(graph(), first, forward_results(), *to);
  std::vector<Values> parts;
  for (const Values& group : groups) parts.push_back(copy_cone(graph(), first, group, *to));
  const std::vector<bool> again = computed_again(groups);
  for (const Node& node : graph().nodes()) {
    for (Value value : results_of(node)) {
      if (const Value known = first.find(value); known && !again[size_t(node.id)])
        later.set(value, known);
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const int axis = groups[i][0].type().shape.rank() - 1;
    const Where where = groups[i][0].node->where;
    const Values pieces = split(concat(parts[i], axis, where), int(parts[i].size()), axis, where);
    for (size_t part = 0; part < pieces.size(); ++part) later.set(groups[i][part], pieces[part]);
  }
  const Values gradients = copy_cone(graph(), later, this->gradients(), *to);
  results.insert(results.end(), gradients.begin(), gradients.end());
  to->set_results(std::move(results));
  joint_.graph = freeze(std::move(to));
}

void DividedStep::emit(Value value) {
  if (emitted_index_.emplace(key_of(value), emitted_.size()).second) emitted_.push_back(value);
}

void DividedStep::set_emitted() {
  emitted_ = results(joint_.carries, joint_.emits);
  emitted_index_.clear();
  for (size_t i = 0; i < emitted_.size(); ++i) emitted_index_.emplace(key_of(emitted_[i]), i);
}

}  // namespace graphc::core

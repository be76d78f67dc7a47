// SPDX-License-Identifier: Apache-2.0
#include "passes/repeats.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc::core {
namespace {

constexpr size_t kLeastCopies = 4;
/// How many nodes like the first of a body are tried as the start of the next copy, and how many
/// rotations of a body are tried.
constexpr size_t kMostTried = 64;

bool is_constant(const Node& node) { return node.operands.empty() && node.regions.empty(); }

bool equal_constants(Value a, Value b) {
  return is_constant(*a.node) && &a.node->op == &b.node->op && a.index == b.index &&
         a.node->attributes == b.node->attributes && a.type() == b.type() &&
         !a.node->is(ops::input) && !a.node->is(ops::state);
}

/// A slice or part of width one.
std::optional<TakenStep> narrow_part(Value value) {
  const Node& node = *value.node;
  const bool is_slice = node.is(ops::slice);
  if (!is_slice && !node.is(ops::split)) return std::nullopt;
  const int axis = int(node.attributes.get_int("axis", 0));
  if (value.shape()[axis] != 1) return std::nullopt;
  const int64_t index = is_slice ? node.attributes.get_int("start", 0) : value.index;
  return TakenStep{node.operands[0], axis, index, true};
}

/// A text that is the same for nodes that may be copies of each other.
std::string likeness(const Node& node) {
  std::string text(node.op.name);
  for (const auto& [name, attribute] : node.attributes)
    text += fmt::format(" {}={}", name, to_string(attribute));
  for (const GraphPtr& region : node.regions)
    text += fmt::format(" @{}", static_cast<const void*>(region.get()));
  for (const Type& type : node.types) text += " " + to_string(type);
  return text + fmt::format(" {}", node.operands.size());
}

/// Whether a node belongs to no copy: a constant, or a step access.
bool stands_anywhere(const Node& node) {
  if (is_constant(node)) return true;
  for (int i = 0; i < node.results(); ++i) {
    if (!taken_step(node.result(i))) return false;
  }
  return true;
}

/// A run: consecutive copies among the computing nodes, from `first` on.
struct Run {
  size_t first = 0, period = 0, copies = 0;
  std::vector<std::vector<CopyOperand>> operands;
};

/// Finds runs among the computing nodes.
class Finder {
 public:
  explicit Finder(const Graph& graph) : place_(graph.nodes().size(), kNone) {
    const std::vector<bool> live = live_nodes(graph);
    std::unordered_map<std::string, int> numbers;
    nodes_.reserve(graph.nodes().size());
    alike_.reserve(graph.nodes().size());
    for (const Node& node : graph.nodes()) {
      if (!live[size_t(node.id)] || stands_anywhere(node)) continue;
      place_[size_t(node.id)] = nodes_.size();
      nodes_.push_back(&node);
      alike_.push_back(numbers.emplace(likeness(node), int(numbers.size())).first->second);
    }
    // For each node, the next one like it.
    next_.assign(nodes_.size(), kNone);
    std::vector<size_t> last(numbers.size(), kNone);
    for (size_t i = nodes_.size(); i-- > 0;) {
      next_[i] = last[size_t(alike_[i])];
      last[size_t(alike_[i])] = i;
    }
  }

  std::optional<Repeats> first_run(size_t from) {
    for (size_t i = from; i + kLeastCopies <= nodes_.size();) {
      Run best = longest_at(i);
      if (best.copies >= kLeastCopies && is_worth_it(best))
        return repeats_of(with_least_carried(best));
      // If a run is not worth a loop, nodes after its start may belong to another run.
      i += best.copies >= kLeastCopies ? (best.copies - 1) * best.period : 1;
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kNone = size_t(-1);

  Repeats repeats_of(Run&& run) const {
    const auto begin = nodes_.begin() + std::ptrdiff_t(run.first);
    return {run.first,
            run.period,
            run.copies,
            {begin, begin + std::ptrdiff_t(run.period * run.copies)},
            std::move(run.operands)};
  }
  const Node& node(const Run& run, size_t copy, size_t m) const {
    return *nodes_[run.first + copy * run.period + m];
  }

  /// The run starting here that covers the most nodes.
  Run longest_at(size_t first) const {
    Run best;
    size_t tried = 0;
    for (size_t next = next_[first]; next != kNone && tried < kMostTried;
         next = next_[next], ++tried) {
      const size_t period = next - first;
      if (first + kLeastCopies * period > nodes_.size()) break;
      // A longer period that consists of copies already found covers no more nodes.
      if (best.period > 0 && period % best.period == 0 && best.copies * best.period >= 2 * period)
        continue;
      if (!are_alike(first, period)) continue;
      Run run = run_of(first, period);
      if (run.copies * period > best.copies * best.period) best = std::move(run);
    }
    return best;
  }

  /// Whether the minimum number of copies consists of similar nodes.
  bool are_alike(size_t first, size_t period) const {
    for (size_t k = 1; k < (kLeastCopies - 1) * period; ++k) {
      if (alike_[first + k] != alike_[first + period + k]) return false;
    }
    return true;
  }

  Run run_of(size_t first, size_t period) const {
    Run run{first, period, 0, {}};
    for (size_t m = 0; m < period; ++m) {
      std::vector<CopyOperand> operands;
      for (size_t k = 0; k < nodes_[first + m]->operands.size(); ++k) {
        const std::optional<CopyOperand> operand = operand_of(run, m, k);
        if (!operand) return run;
        operands.push_back(*operand);
      }
      run.operands.push_back(std::move(operands));
    }
    if (goes_both_ways(run)) return run;
    for (run.copies = 2; has_copy(run, run.copies);) ++run.copies;
    return run;
  }

  static bool goes_both_ways(const Run& run) {
    bool ways[2] = {false, false};
    for (const auto& operands : run.operands) {
      for (const CopyOperand& operand : operands) {
        if (operand.kind == CopyOperand::Kind::stream) ways[operand.by > 0] = true;
      }
    }
    return ways[0] && ways[1];
  }

  /// The index of the computing node that makes the value; kNone if there is none.
  size_t place(Value value) const { return place_[size_t(value.node->id)]; }
  bool is_in(const Run& run, size_t copy, Value value) const {
    const size_t begin = run.first + copy * run.period, at = place(value);
    return at != kNone && at >= begin && at < begin + run.period;
  }
  bool is_before(const Run& run, Value value) const {
    return place(value) == kNone || place(value) < run.first;
  }

  /// The kind of an operand, determined from the first two copies.
  std::optional<CopyOperand> operand_of(const Run& run, size_t m, size_t k) const {
    using Kind = CopyOperand::Kind;
    const Value whole[2] = {node(run, 0, m).operands[k], node(run, 1, m).operands[k]};
    const std::optional<TakenStep> steps[2] = {taken_step(whole[0]), taken_step(whole[1])};
    if (steps[0].has_value() != steps[1].has_value()) return std::nullopt;
    CopyOperand found;
    Value from[2] = {whole[0], whole[1]};
    if (steps[0]) {
      if (steps[0]->axis != steps[1]->axis || steps[0]->keeps_axis != steps[1]->keeps_axis)
        return std::nullopt;
      for (int i : {0, 1}) from[i] = steps[i]->from;
      found.step = steps[0];
      const int64_t by = steps[1]->index - steps[0]->index;
      if (by != 0) {
        if (from[0] != from[1] || !is_before(run, from[0]) || (by != 1 && by != -1))
          return std::nullopt;
        found.kind = Kind::stream;
        found.outside = from[0];
        found.by = int(by);
        return found;
      }
    }
    found.result = from[1].index;
    const bool same_result = from[0].index == from[1].index;
    if (is_in(run, 0, from[0]) && is_in(run, 1, from[1])) {
      found.kind = Kind::internal;
      found.node = place(from[0]) - run.first;
      if (!same_result || place(from[1]) - place(from[0]) != run.period) return std::nullopt;
      return found;
    }
    if (!is_before(run, from[0])) return std::nullopt;
    found.outside = from[0];
    if (is_in(run, 0, from[1])) {
      found.kind = Kind::carried;
      found.node = place(from[1]) - run.first;
      return from[0].type() == from[1].type() ? std::optional(found) : std::nullopt;
    }
    found.kind = Kind::invariant;
    if (from[0] != from[1] && !equal_constants(from[0], from[1])) return std::nullopt;
    return found;
  }

  /// Whether the copy with this number exists.
  bool has_copy(const Run& run, size_t copy) const {
    const size_t begin = run.first + copy * run.period;
    if (begin + run.period > nodes_.size()) return false;
    for (size_t m = 0; m < run.period; ++m) {
      if (alike_[begin + m] != alike_[run.first + m]) return false;
      const Values& operands = nodes_[begin + m]->operands;
      for (size_t k = 0; k < operands.size(); ++k) {
        if (!is_operand(run, copy, run.operands[m][k], operands[k])) return false;
      }
    }
    return true;
  }

  bool is_operand(const Run& run, size_t copy, const CopyOperand& wanted, Value value) const {
    using Kind = CopyOperand::Kind;
    const std::optional<TakenStep> step = taken_step(value);
    if (step.has_value() != wanted.step.has_value()) return false;
    if (step) {
      const int64_t index = wanted.step->index + int64_t(copy) * wanted.by;
      if (step->axis != wanted.step->axis || step->keeps_axis != wanted.step->keeps_axis ||
          step->index != index)
        return false;
      value = step->from;
    }
    const auto is_at = [&](size_t of_copy) {
      return place(value) == run.first + of_copy * run.period + wanted.node &&
             value.index == wanted.result;
    };
    switch (wanted.kind) {
      case Kind::internal:
        return is_at(copy);
      case Kind::carried:
        return is_at(copy - 1) ||
               (mutated(Mutant::rerolled_reads_any_state) && copy > 1 && is_at(copy - 2));
      case Kind::invariant:
        return value == wanted.outside || equal_constants(value, wanted.outside);
      case Kind::stream:
        return value == wanted.outside;
    }
    return false;
  }

  /// The number of elements that each copy passes to the next.
  static int64_t carried(const Run& run) {
    int64_t elements = 0;
    std::vector<std::pair<size_t, int>> known;
    for (const auto& operands : run.operands) {
      for (const CopyOperand& operand : operands) {
        const auto what = std::pair(operand.node, operand.result);
        if (operand.kind != CopyOperand::Kind::carried || std::ranges::count(known, what) > 0)
          continue;
        known.push_back(what);
        elements += operand.outside.shape().elements();
      }
    }
    return elements;
  }

  bool is_worth_it(const Run& run) const {
    bool has_product = false, goes_on = false;
    for (size_t m = 0; m < run.period; ++m) {
      const Node& one = node(run, 0, m);
      // Gradients may be taken of loops, but not from inside one.
      if (one.is(ops::grad) || one.is(ops::watch)) return false;
      has_product |= one.is(ops::matmul);
      for (const CopyOperand& operand : run.operands[m])
        goes_on |=
            operand.kind == CopyOperand::Kind::carried || operand.kind == CopyOperand::Kind::stream;
    }
    return has_product && goes_on;
  }

  /// Rotates a run to the first starting point in the body that carries the fewest elements.
  Run with_least_carried(const Run& run) const {
    int64_t least = carried(run);
    Run best = run;
    for (size_t k = 1; k < std::min(run.period, kMostTried); ++k) {
      Run other = run_of(run.first + k, run.period);
      if (other.copies + 1 < run.copies || other.copies < kLeastCopies) continue;
      const int64_t elements = carried(other);
      if (elements >= least) continue;
      least = elements;
      best = std::move(other);
    }
    return best;
  }

  std::vector<const Node*> nodes_;
  std::vector<int> alike_;     ///< by node: its class
  std::vector<size_t> next_;   ///< by node: the next one of its class
  std::vector<size_t> place_;  ///< by id
};

}  // namespace

std::optional<TakenStep> taken_step(Value value) {
  if (const std::optional<TakenStep> part = narrow_part(value)) return part;
  if (!value.node->is(ops::reshape)) return std::nullopt;
  std::optional<TakenStep> part = narrow_part(value.node->operands[0]);
  if (!part || value.node->operands[0].shape().without(part->axis) != value.shape())
    return std::nullopt;
  part->keeps_axis = false;
  return part;
}

bool Repeats::reverse() const {
  for (const auto& each : operands) {
    for (const CopyOperand& operand : each) {
      if (operand.kind == CopyOperand::Kind::stream) return operand.by < 0;
    }
  }
  return false;
}

std::optional<Repeats> find_repeats(const Graph& graph, size_t from) {
  return Finder(graph).first_run(from);
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/fan_in.h"

#include <algorithm>
#include <set>

#include "ir/composite.h"
#include "ir/scan.h"

namespace graphc::core::commands {
namespace {

/// How likely a value is a weight: results of products or sums, and values that change between
/// steps, never are.
enum class Kind { computed, constant, input, state };

/// The origin of a value: the leaves from which it is made elementwise or by moves.
struct Origin {
  Kind kind = Kind::computed;
  std::set<size_t> leaves;  ///< positions among the graph's inputs, then states
};

Origin together(const std::vector<Origin>& operands) {
  Origin all{.kind = Kind::constant};
  for (const Origin& operand : operands) {
    if (operand.kind == Kind::computed) return {};
    all.kind = std::max(all.kind, operand.kind);
    all.leaves.insert(operand.leaves.begin(), operand.leaves.end());
  }
  return all;
}

bool is_reduction(const Node& node) {
  return node.is(ops::sum) || node.is(ops::max) || node.is(ops::prod) || node.is(ops::cumsum) ||
         node.is(ops::gather);
}

class FanIns {
 public:
  explicit FanIns(size_t leaves) : fan_ins_(leaves) {}

  /// Visits a graph whose inputs, then states, have these origins; returns the origins of its
  /// results.
  std::vector<Origin> visit(const Graph& graph, const std::vector<Origin>& leaves) {
    std::vector<std::vector<Origin>> origins(graph.nodes().size());
    size_t position = 0;
    for (const Values* among : {&graph.inputs(), &graph.states()}) {
      for (Value leaf : *among) origins[size_t(leaf.node->id)] = {leaves[position++]};
    }
    for (const Node& node : graph.nodes()) {
      if (node.is(ops::input) || node.is(ops::state)) continue;
      std::vector<Origin> operands;
      for (Value operand : node.operands)
        operands.push_back(origins[size_t(operand.node->id)][size_t(operand.index)]);
      origins[size_t(node.id)] = visit(node, operands);
      origins[size_t(node.id)].resize(size_t(node.results()));
    }
    std::vector<Origin> results;
    for (Value result : graph.results())
      results.push_back(origins[size_t(result.node->id)][size_t(result.index)]);
    return results;
  }

  std::vector<int64_t> take() { return std::move(fan_ins_); }

 private:
  std::vector<Origin> visit(const Node& node, std::vector<Origin>& operands) {
    if (node.is(ops::matmul)) {
      take_product(node, operands);
      return {};
    }
    if (node.is(ops::scan)) {
      const Scan scan(node);
      for (size_t i = 0; i < scan.streams().size() + scan.initial().size(); ++i) operands[i] = {};
      visit(scan.body(), operands);
      return {};
    }
    if (is_composite(node.op)) return visit(*body_of(node), operands);
    if (is_reduction(node)) return {};
    return std::vector<Origin>(size_t(node.results()), together(operands));
  }

  void take_product(const Node& node, const std::vector<Origin>& operands) {
    const Origin& weight = operands[0].kind > operands[1].kind ? operands[0] : operands[1];
    const Shape& left = node.operands[0].shape();
    const bool transposed = node.attributes.get_bool("transpose_a", false);
    const int64_t terms = left[left.rank() - (transposed ? 2 : 1)];
    for (size_t leaf : weight.leaves) fan_ins_[leaf] = std::max(fan_ins_[leaf], terms);
  }

  std::vector<int64_t> fan_ins_;
};

}  // namespace

std::vector<int64_t> fan_ins(const Graph& graph) {
  const size_t inputs = graph.inputs().size(), leaves = inputs + graph.states().size();
  std::vector<Origin> origins;
  for (size_t i = 0; i < leaves; ++i)
    origins.push_back({.kind = i < inputs ? Kind::input : Kind::state, .leaves = {i}});
  FanIns found(leaves);
  found.visit(graph, origins);
  return found.take();
}

}  // namespace graphc::core::commands

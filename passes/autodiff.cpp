// SPDX-License-Identifier: Apache-2.0
// Removes `grad`: reverse mode, one vector-Jacobian product per node from the loss back to the
// leaves.
//
// The cotangent of a value is the sum of the contributions of its uses. A value on no path to the
// loss has none, which differs from zeros: nothing is computed from it. Composites with their own
// derivative are kept, and with option `library` so are layers that a library implements; the
// others are replaced by their bodies. For loops see autodiff_scan.cpp. Grads are expanded in the
// order of the graph, so that one may differentiate another's result, and in loop bodies before the
// enclosing graph.
#include "passes/autodiff.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/scan.h"
#include "passes/composites.h"
#include "passes/library_layers.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// The cotangents of the nodes that existed when reverse mode began.
class Cotangents {
 public:
  explicit Cotangents(const Graph& graph) : values_(graph.nodes().size()) {}

  void add(Value value, Value cotangent) {
    GRAPHC_CHECK(cotangent.dtype() == value.dtype(), "the cotangent of %{} is {}", value.name(),
                 to_string(cotangent.type()));
    Values& results = values_[size_t(value.node->id)];
    if (results.empty()) results.resize(size_t(value.node->results()));
    Value& sum = results[size_t(value.index)];
    const Value term = sum_to(cotangent, value.shape());
    sum = sum && !mutated(Mutant::cotangents_not_summed) ? sum + term : term;
  }

  /// One per result; empty if no result has one.
  const Values& of(const Node& node) const { return values_[size_t(node.id)]; }

 private:
  std::vector<Values> values_;
};

/// The gradients of a layer that a library implements: one node, which reads the layer's results.
Values gradients_of_layer(Graph& graph, const Node& layer, const Values& dy) {
  Values operands = layer.operands;
  operands.push_back(layer.result());
  for (int i = 0; i < layer.results(); ++i)
    operands.push_back(dy[size_t(i)] ? dy[size_t(i)] : splat(graph, 0, layer.types[size_t(i)]));
  return results_of(
      graph.add(*layer.op.gradients, std::move(operands), {}, {}, layer.where.derivative()));
}

Values product_with_jacobian(Graph& graph, const Node& node, const Values& dy,
                             const std::vector<bool>& active, ForwardScans& forwards) {
  if (node.is(ops::scan)) return differentiate_scan(graph, node, dy, active, forwards);
  if (node.op.vjp == nullptr && is_library_layer(node)) return gradients_of_layer(graph, node, dy);
  if (node.op.vjp == nullptr)
    throw input_error(node.where, "{}: has no derivative: %{}", node.op.name, node.names[0]);
  return node.op.vjp(node, dy);
}

}  // namespace

Values backpropagate(Graph& graph, const Values& outputs, const Values& cotangents,
                     const Values& wrt, ForwardScans& forwards) {
  const std::vector<bool> depends = dependents(graph, wrt);
  const auto is_active = [&](Value value) {
    return depends[size_t(value.node->id)] && is_floating(value.dtype());
  };
  Cotangents sums(graph);
  const int last = int(graph.nodes().size()) - 1;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (cotangents[i] && is_active(outputs[i])) sums.add(outputs[i], cotangents[i]);
  }
  for (int id = last; id >= 0; --id) {
    const Node& node = graph.nodes()[size_t(id)];
    const Values& dy = sums.of(node);
    if (dy.empty() || node.operands.empty()) continue;
    std::vector<bool> active;
    bool any = false;
    for (Value operand : node.operands) {
      active.push_back(is_active(operand));
      any |= active.back();
    }
    if (!any) continue;
    const WhereScope scope(node.where.derivative());
    const Values dx = product_with_jacobian(graph, node, dy, active, forwards);
    for (size_t i = 0; i < dx.size(); ++i) {
      if (dx[i] && active[i]) sums.add(node.operands[i], dx[i]);
    }
  }
  Values gradients;
  for (Value value : wrt) {
    const Values& found = sums.of(*value.node);
    gradients.push_back(found.empty() ? Value{} : found[size_t(value.index)]);
  }
  return gradients;
}

int UserCounts::of(Value value) {
  const std::deque<Node>& nodes = value.node->graph->nodes();
  for (; counted_ < nodes.size(); ++counted_) {
    const Node& node = nodes[counted_];
    std::set<std::pair<int, int>> operands;
    for (Value operand : node.operands) operands.emplace(operand.node->id, operand.index);
    for (const auto& operand : operands) ++counts_[operand];
  }
  const auto found = counts_.find({value.node->id, value.index});
  return found == counts_.end() ? 0 : found->second;
}

namespace {

/// The scan with residuals in place of the old one: all its results, and those of the old one.
Values with_residuals(const ForwardScan& forward, const Values& operands, Graph& to,
                      Values& merged) {
  const Node& node = *forward.old;
  const Node& longer = *forward.with_residuals;
  const size_t carries = Scan(node).initial().size();
  const size_t emits = size_t(node.results()) - carries;
  const size_t more = size_t(longer.results() - node.results());
  std::vector<std::string> names = longer.names;
  for (size_t k = 0; k < size_t(node.results()); ++k)
    names[k < emits ? k : k + more] = node.names[k];
  const Node& copy =
      to.add(ops::scan, operands, longer.attributes, longer.regions, node.where, std::move(names));
  merged = results_of(copy);
  Values results(merged.begin(), merged.begin() + long(emits));
  results.insert(results.end(), merged.begin() + long(emits + more), merged.end());
  return results;
}

}  // namespace

GraphPtr merge_forward_scans(const GraphPtr& graph, const ForwardScans& forwards) {
  std::unordered_map<const Node*, size_t> of_old, of_longer;
  std::vector<Values> merged(forwards.list.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    of_old.emplace(forwards.list[i].old, i);
    of_longer.emplace(forwards.list[i].with_residuals, i);
  }
  const auto replace = [&](const Node& node, const Values& operands,
                           Graph& to) -> std::optional<Values> {
    const auto longer = of_longer.find(&node);
    if (longer != of_longer.end() && !merged[longer->second].empty()) return merged[longer->second];
    const auto old = of_old.find(&node);
    if (old == of_old.end()) return std::nullopt;
    return with_residuals(forwards.list[old->second], operands, to, merged[old->second]);
  };
  return rewrite(*graph, replace);
}

namespace {

const Node* first_grad(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::grad)) return &node;
  }
  return nullptr;
}

Values gradients_of(const Node& grad, const Values& operands, Graph& to, ForwardScans& forwards) {
  const WhereScope scope(grad.where.derivative());
  const Value loss = operands[0];
  const Values leaves(operands.begin() + 1, operands.end());
  const Value one = splat(to, 1, {loss.dtype(), {}});
  Values gradients = backpropagate(to, {loss}, {one}, leaves, forwards);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) gradients[i] = splat(to, 0, leaves[i].type());
  }
  return gradients;
}

/// Each order of differentiation multiplies the number of nodes. First-order gradients have less
/// than ten times the nodes of their loss.
void check_growth(const Node& grad, size_t before, size_t after) {
  const size_t most = std::max<size_t>(100'000, 64 * before);
  if (after <= most) return;
  throw input_error(grad.where,
                    "grad: gradients of gradients make {} nodes of {}: at most {} are allowed",
                    after, before, most);
}

/// `stays` selects composites that are not replaced by their bodies for differentiation.
GraphPtr without_grads(GraphPtr graph, const std::function<bool(const Node&)>& stays) {
  const size_t before = graph->nodes().size();
  while (const Node* grad = first_grad(*graph)) {
    check_growth(*grad, before, graph->nodes().size());
    const Values leaves(grad->operands.begin() + 1, grad->operands.end());
    const std::vector<bool> active = dependents(*graph, leaves);
    ForwardScans forwards;
    const GraphPtr with_backward = rewrite(
        *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
          if (&node == grad) return gradients_of(node, operands, to, forwards);
          if (active[size_t(node.id)] && is_composite(node.op) && !stays(node))
            return inline_composite(node, operands, to, has_no_derivative);
          return std::nullopt;
        });
    graph = merge_forward_scans(with_backward, forwards);
  }
  return graph;
}

/// Leaf markers are no longer needed: `watch` and `stop_gradient` become their operands.
GraphPtr without_marks(const GraphPtr& graph) {
  if (!contains(*graph, ops::watch) && !contains(*graph, ops::stop_gradient)) return graph;
  return rewrite(*graph, [](const Node& node, const Values& operands, Graph&) {
    const bool mark = node.is(ops::watch) || node.is(ops::stop_gradient);
    return mark ? std::optional<Values>(operands) : std::nullopt;
  });
}

GraphPtr run_autodiff(const GraphPtr& graph, const PassOptions& options, Remarks&) {
  const bool library = options.get_bool("library", false);
  const auto stays = [&](const Node& node) {
    return node.op.vjp != nullptr || (library && is_library_layer(node));
  };
  const auto without = [&](const GraphPtr& from) { return without_grads(from, stays); };
  const GraphPtr differentiated = without(rewrite_regions(graph, without));
  return without_marks(rewrite_regions(differentiated, without_marks));
}

}  // namespace

constinit const Pass passes::autodiff{
    .name = "autodiff",
    .summary = "replaces grad by the nodes that compute it",
    .options = "library",
    .run = run_autodiff,
};

}  // namespace graphc::core

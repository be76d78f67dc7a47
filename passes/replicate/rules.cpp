// SPDX-License-Identifier: Apache-2.0
// Which rule is an op's; elementwise work, products and composites.
#include "passes/replicate/rules.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/composite.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

/// Whether the node of operands held so is linear in all that are terms: then it may be computed
/// term by term.
bool is_linear(const Replicator& r, const Node& node) {
  const auto terms = [&](size_t i) { return r.holding(node.operands[i]).terms(); };
  if (node.is(ops::neg) || node.is(ops::stop_gradient)) return true;
  if (node.is(ops::add) || node.is(ops::sub)) return true;
  if (node.is(ops::mul)) return !(terms(0) && terms(1));
  if (node.is(ops::div)) return !terms(1) && is_floating(node.types[0].dtype);
  return node.is(ops::select) && !terms(0);
}

/// Whether operand `i` of a linear node must be terms if another one is.
bool is_added(const Node& node, size_t i) {
  if (node.is(ops::add) || node.is(ops::sub)) return true;
  return node.is(ops::select) && i > 0;
}

/// The axis of the result that operand `i` has parts along.
int axis_of_result(const Node& node, size_t i, const Holding& holding) {
  return holding.axis + node.types[0].shape.rank() - node.operands[i].shape().rank();
}

/// Term by term; false if that cannot be.
bool replicate_terms(Replicator& r, const Node& node) {
  if (!is_linear(r, node)) return false;
  for (const Value operand : node.operands) {
    if (r.holding(operand).parts()) return false;
  }
  std::vector<Values> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Value operand = node.operands[i];
    const bool whole = !r.holding(operand).terms() && !is_added(node, i);
    operands.push_back(r.as(operand, whole ? kWhole : kTerms));
  }
  r.add(node, operands, kTerms);
  return true;
}

/// The node with what a shard has of its operands, in a graph of their types; null if it does not
/// fit its op.
GraphPtr own_node(const Node& node, const Graph& of_types) {
  auto graph = std::make_unique<Graph>();
  Values operands;
  for (const Value input : of_types.inputs())
    operands.push_back(graph->input(input.type(), input.name()));
  Values results;
  try {
    const Node& copy = graph->add(node.op, operands, node.attributes, {}, node.where);
    for (int i = 0; i < copy.results(); ++i) results.push_back(copy.result(i));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return nullptr;
  }
  graph->set_results(std::move(results));
  return freeze(std::move(graph));
}

GraphPtr without_dead_nodes(const Graph& graph) {
  return rewrite(graph, [](const Node&, const Values&, Graph&) -> std::optional<Values> {
    return std::nullopt;
  });
}

/// What one shard computes of a composite's body: the holdings of the results, if it is the body of
/// the same composite for the shard's operands.
std::optional<std::vector<Holding>> stays_composite(Replicator& r, const Node& node,
                                                    const Graph& body) {
  auto own = std::make_unique<Graph>(body.name());
  Replicator trial(body, *own, r.shards().only(r.shards().own[0]), nullptr);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Holding& holding = r.holding(node.operands[i]);
    const Value input = body.inputs()[i];
    const Shape shape = own_shape(input.shape(), holding, r.shards().count);
    trial.set(input, holding, {own->input({input.dtype(), shape}, input.name())});
  }
  trial.run();
  if (trial.found().communicates || trial.found().by_place) return std::nullopt;
  std::vector<Holding> holdings;
  Values results;
  for (const Value result : body.results()) {
    holdings.push_back(trial.holding(result));
    results.push_back(trial.as(result, holdings.back())[0]);
  }
  own->set_results(std::move(results));
  const GraphPtr computed = without_dead_nodes(*freeze(std::move(own)));
  const GraphPtr copy = own_node(node, *computed);
  if (copy == nullptr) return std::nullopt;
  const GraphPtr wanted = without_dead_nodes(*body_of(*copy->results()[0].node));
  return equal(*computed, *wanted) ? std::optional(holdings) : std::nullopt;
}

/// Whether the body draws random numbers.
bool draws(const Graph& body) {
  return std::ranges::any_of(body.nodes(), [](const Node& node) {
    return node.is(ops::philox) || (is_composite(node.op) && draws(*body_of(node)));
  });
}

bool is_all(const Replicator& r, const Node& node, Held held) {
  return std::ranges::all_of(node.operands,
                             [&](Value operand) { return r.holding(operand).held == held; });
}

/// The number of elements is that of the whole.
void replicate_size(Replicator& r, const Node& node) {
  const Holding& holding = r.holding(node.operands[0]);
  const std::vector<int64_t> axes = node.attributes.get_ints("axes");
  const bool counted = holding.parts() && std::ranges::count(axes, holding.axis) > 0;
  if (counted || holding.terms())
    return r.set(node.result(), kWhole, {constant_size(node, r.to())});
  r.add(node, {r.as(node.operands[0], holding)}, kWhole);
}

}  // namespace

Holding operand_holding(const Node& node, size_t i, const Holding& holding) {
  if (!holding.parts()) return holding;
  const Shape& shape = node.operands[i].shape();
  const int axis = holding.axis - (node.types[0].shape.rank() - shape.rank());
  if (axis < 0 || shape[axis] != node.types[0].shape[holding.axis]) return kWhole;
  return parts_along(axis, holding.outer);
}

void replicate_elementwise(Replicator& r, const Node& node) {
  const auto held = [&](Held wanted) {
    return std::ranges::find_if(node.operands,
                                [&](Value operand) { return r.holding(operand).held == wanted; });
  };
  if (held(Held::terms) != node.operands.end() && replicate_terms(r, node)) return;
  const auto first = held(Held::parts);
  if (first == node.operands.end()) return r.add_whole(node);
  const size_t index = size_t(first - node.operands.begin());
  const Holding& own = r.holding(*first);
  const Holding holding = parts_along(axis_of_result(node, index, own), own.outer);
  std::vector<Values> operands;
  for (size_t i = 0; i < node.operands.size(); ++i)
    operands.push_back(r.as(node.operands[i], operand_holding(node, i, holding)));
  r.add(node, operands, holding);
}

void replicate_matmul(Replicator& r, const Node& node) {
  const Value a = node.operands[0], b = node.operands[1];
  const Holding sa = r.holding(a), sb = r.holding(b);
  if (sa.terms() || sb.terms()) {
    const bool linear = sa.terms() ? sb.whole() : sa.whole();
    if (!linear) return r.add_whole(node, "a product of sums over the batch");
    return r.add(node, {r.as(a, sa), r.as(b, sb)}, kTerms);
  }
  const int rank = a.shape().rank();
  const bool batched = b.shape().rank() > 2;
  const int k_of_a = node.attributes.get_bool("transpose_a", false) ? rank - 2 : rank - 1;
  const int k_of_b = b.shape().rank() - (node.attributes.get_bool("transpose_b", false) ? 1 : 2);
  const int rows_of_a = 2 * rank - 3 - k_of_a, columns_of_b = 2 * b.shape().rank() - 3 - k_of_b;
  const auto parts = [&](const Holding& x, const Holding& y, const Holding& result) {
    r.add(node, {r.as(a, x), r.as(b, y)}, result);
  };
  if (sa.parts() && sa.axis < rank - 2) return parts(sa, batched ? sa : kWhole, sa);
  if (sa.parts() && sa.axis == k_of_a) return parts(sa, parts_along(k_of_b, sa.outer), kTerms);
  if (sa.parts() && sa.axis == rows_of_a) return parts(sa, kWhole, parts_along(rank - 2, sa.outer));
  if (!sb.parts()) return r.add_whole(node);
  if (batched && sb.axis < rank - 2) return parts(sb, sb, sb);
  if (sb.axis == k_of_b) return parts(parts_along(k_of_a, sb.outer), sb, kTerms);
  GRAPHC_CHECK(sb.axis == columns_of_b, "an axis of a matrix that is none");
  parts(kWhole, sb, parts_along(rank - 1, sb.outer));
}

void replicate_composite(Replicator& r, const Node& node) {
  GraphPtr body = body_of(node);
  if (is_all(r, node, Held::whole)) {
    // Draws are computed by the place of an element.
    return draws(*body) ? r.add_body(node, std::move(body)) : r.add_whole(node);
  }
  const bool any_terms =
      std::ranges::any_of(node.operands, [&](Value operand) { return r.holding(operand).terms(); });
  const auto holdings = any_terms ? std::nullopt : stays_composite(r, node, *body);
  if (!holdings) return r.add_body(node, std::move(body));
  std::vector<Values> operands;
  for (const Value operand : node.operands) operands.push_back(r.as(operand, r.holding(operand)));
  r.add(node, operands, node.attributes, *holdings);
}

void replicate_node(Replicator& r, const Node& node) {
  if (node.is(ops::size)) return replicate_size(r, node);
  if (node.is(ops::scan)) return replicate_scan(r, node);
  if (node.is(ops::grad)) return replicate_grad(r, node);
  if (is_composite(node.op)) return replicate_composite(r, node);
  if (is_all(r, node, Held::whole)) return r.add_whole(node);
  // A leaf of derivatives is a value, not a term of one.
  if (node.is(ops::watch) && r.holding(node.operands[0]).terms()) return r.add_whole(node);
  if (is_elementwise(node.op)) return replicate_elementwise(r, node);
  if (node.is(ops::matmul)) return replicate_matmul(r, node);
  replicate_shape(r, node);
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Minimises the number of products in a loop's step, and exposes those that can leave the loop.
//
// A product over a concatenation of carried and loop-independent values, such as matmul(concat(x,
// h), k), becomes a sum of two, so that hoist finds the product of the input. Products with a
// common left operand whose results meet before another product, such as those of four gates,
// become one product with concatenated weights, and sums of all its parts become one sum. Applied
// only in loops, where the weights are concatenated once for all steps.
#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/build.h"
#include "ir/scan.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/variation.h"

namespace graphc::core {
namespace {

/// Nodes that are replaced together at the position of the first. `needs` are copied before it and
/// depend on none of them; `build` defines the values for their results.
struct Group {
  std::vector<const Node*> members;
  Values needs;
  std::function<void(ValueMap& known, Graph& to)> build;
};

GraphPtr replace_groups(const Graph& body, const std::vector<Group>& groups) {
  auto to = std::make_unique<Graph>(body.name());
  ValueMap known(body);
  for (Value input : body.inputs())
    known.set(input, to->input(input.type(), input.name(), input.node->where));
  for (const Node& node : body.nodes()) {
    if (node.is(ops::input) || known.find(node.result())) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& candidate) {
      return std::count(candidate.members.begin(), candidate.members.end(), &node) > 0;
    });
    if (group == groups.end()) {
      copy_cone(body, known, results_of(node), *to);
      continue;
    }
    copy_cone(body, known, group->needs, *to);
    const WhereScope scope(node.where);
    group->build(known, *to);
  }
  to->set_results(known(body.results()));
  return rewrite(*freeze(std::move(to)), nullptr);
}

bool is_set(const Node& node, std::string_view flag) {
  return node.attributes.get_bool(flag, false);
}

/// A product with one matrix on the right and an untransposed left operand.
bool is_plain_product(const Node& node) {
  return node.is(ops::matmul) && !is_set(node, "transpose_a") &&
         node.operands[1].shape().rank() == 2;
}

// --- a product over a concatenation

/// Maximal runs of parts that either all vary with the carries or all do not.
std::vector<Values> runs_of(const Node& concat, const std::vector<bool>& varies) {
  std::vector<Values> runs;
  bool last = false;
  for (Value part : concat.operands) {
    const bool now = varies[size_t(part.node->id)];
    if (runs.empty() || now != last) runs.emplace_back();
    runs.back().push_back(part);
    last = now;
  }
  return runs;
}

std::vector<Group> products_over_concats(const Scan& scan) {
  const Graph& body = scan.body();
  std::vector<bool> varies;
  for (Varies value : variation(scan)) varies.push_back(value == Varies::carries);
  std::vector<Group> groups;
  for (const Node& node : body.nodes()) {
    if (!is_plain_product(node) || varies[size_t(node.operands[1].node->id)]) continue;
    const Node& left = *node.operands[0].node;
    const int last_axis = node.operands[0].shape().rank() - 1;
    if (!left.is(ops::concat) || left.attributes.get_int("axis", 0) != last_axis) continue;
    const std::vector<Values> runs = runs_of(left, varies);
    if (runs.size() < 2) continue;
    const auto build = [&node, runs, last_axis](ValueMap& known, Graph&) {
      const bool transposed = is_set(node, "transpose_b");
      Value total;
      int64_t start = 0;
      for (const Values& run : runs) {
        const Values parts = known(run);
        const Value x = parts.size() == 1 ? parts[0] : concat(parts, last_axis);
        const int64_t limit = start + x.shape()[last_axis];
        const Value rows = slice(known(node.operands[1]), transposed ? 1 : 0, start, limit);
        const Value product = matmul(x, rows, false, transposed);
        total = total ? total + product : product;
        start = limit;
      }
      known.set(node.result(), total);
    };
    groups.push_back({{&node}, node.operands, build});
  }
  return groups;
}

// --- products with a common left operand

/// Sets of values that meet on the way to the body's results without a product in between.
class Barriers {
 public:
  explicit Barriers(const Graph& body) : parent_(body.nodes().size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Node& node : body.nodes()) {
      const bool local = is_elementwise(node.op) || is_composite(node.op) ||
                         node.is(ops::reshape) || node.is(ops::split) || node.is(ops::slice);
      if (!local) continue;
      for (Value operand : node.operands) {
        // Values do not meet in a scalar or in a column of per-row numbers.
        if (operand.shape().rank() >= 2 && operand.shape()[-1] > 1)
          parent_[size_t(find(node.id))] = find(operand.node->id);
      }
    }
  }
  int find(int id) {
    while (parent_[size_t(id)] != id)
      id = parent_[size_t(id)] = parent_[size_t(parent_[size_t(id)])];
    return id;
  }

 private:
  std::vector<int> parent_;
};

void build_joined(const std::vector<const Node*>& members, ValueMap& known) {
  const bool transposed = is_set(*members[0], "transpose_b");
  Values weights;
  bool equal_widths = true;
  for (const Node* member : members) {
    weights.push_back(known(member->operands[1]));
    equal_widths &= member->types == members[0]->types;
  }
  const Value left = known(members[0]->operands[0]);
  const Value product = matmul(left, concat(weights, transposed ? 0 : 1), false, transposed);
  const int axis = product.shape().rank() - 1;
  const Values parts = equal_widths ? split(product, int(members.size()), axis) : Values{};
  int64_t start = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    const int64_t limit = start + members[i]->types[0].shape[axis];
    known.set(members[i]->result(), equal_widths ? parts[i] : slice(product, axis, start, limit));
    start = limit;
  }
}

std::vector<Group> sibling_products(const Scan& scan) {
  const Graph& body = scan.body();
  const std::vector<Varies> varies = variation(scan);
  const std::vector<bool> live = needed_for(body, body.results());
  Barriers barriers(body);
  std::vector<std::vector<const Node*>> classes;
  for (const Node& node : body.nodes()) {
    if (!live[size_t(node.id)] || !is_plain_product(node)) continue;
    if (!is_invariant(varies, node.operands[1])) continue;
    const auto alike = std::find_if(classes.begin(), classes.end(), [&](const auto& candidate) {
      const Node& other = *candidate[0];
      return other.operands[0] == node.operands[0] && other.attributes == node.attributes &&
             barriers.find(other.id) == barriers.find(node.id);
    });
    if (alike == classes.end())
      classes.push_back({&node});
    else
      alike->push_back(&node);
  }
  std::vector<Group> groups;
  for (const std::vector<const Node*>& members : classes) {
    if (members.size() < 2) continue;
    Group group{members, {}, nullptr};
    for (const Node* member : members)
      group.needs.insert(group.needs.end(), member->operands.begin(), member->operands.end());
    group.build = [members](ValueMap& known, Graph&) { build_joined(members, known); };
    groups.push_back(std::move(group));
  }
  return groups;
}

// --- sums of all parts

/// For each part of a split its only user, a sum of it and `others`; empty if there is no such sum.
struct SumsOfParts {
  std::vector<const Node*> sums;
  Values others;
};

SumsOfParts sums_of_parts(const Graph& body, const Node& split) {
  SumsOfParts found;
  found.sums.resize(split.types.size());
  found.others.resize(split.types.size());
  const auto refuse = [] { return SumsOfParts{}; };
  for (Value result : body.results()) {
    if (result.node == &split) return refuse();
  }
  for (const Node& node : body.nodes()) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Value operand = node.operands[i];
      if (operand.node != &split) continue;
      const Node*& sum = found.sums[size_t(operand.index)];
      if (sum != nullptr || !node.is(ops::add) || node.types[0] != operand.type()) return refuse();
      sum = &node;
      found.others[size_t(operand.index)] = node.operands[1 - i];
    }
  }
  const bool all = std::find(found.sums.begin(), found.sums.end(), nullptr) == found.sums.end();
  return all ? found : refuse();
}

/// Whether `others` can be added to all parts at once: they are the parts of one value, in order,
/// or vectors that can be concatenated.
bool are_parts_of(const Values& others, const Node& split) {
  const Node& other = *others[0].node;
  if (!other.is(ops::split) || !(other.attributes == split.attributes) ||
      other.types != split.types)
    return false;
  for (size_t k = 0; k < others.size(); ++k) {
    if (others[k] != other.result(int(k))) return false;
  }
  return true;
}

bool are_vectors(const Values& others, const Node& split) {
  const int rank = split.types[0].shape.rank();
  const bool last = split.attributes.get_int("axis", 0) == rank - 1;
  return last && std::all_of(others.begin(), others.end(), [&](Value other) {
           return other.shape().rank() == 1 && other.shape()[0] == split.types[0].shape[-1];
         });
}

std::optional<Group> sum_of_parts(const Graph& body) {
  for (const Node& split_node : body.nodes()) {
    if (!split_node.is(ops::split)) continue;
    const SumsOfParts found = sums_of_parts(body, split_node);
    if (found.sums.empty()) continue;
    const bool parts = are_parts_of(found.others, split_node);
    if (!parts && !are_vectors(found.others, split_node)) continue;
    Values sums;
    for (const Node* sum : found.sums) sums.push_back(sum->result());
    const std::vector<bool> behind = dependents(body, sums);
    if (std::any_of(found.others.begin(), found.others.end(),
                    [&](Value other) { return behind[size_t(other.node->id)]; }))
      continue;
    const Value whole = split_node.operands[0];
    const Values needed = parts ? Values{found.others[0].node->operands[0]} : found.others;
    Group group{found.sums, needed, nullptr};
    group.needs.push_back(whole);
    group.build = [found, parts, whole, needed, &split_node](ValueMap& known, Graph&) {
      const Values values = known(needed);
      const Value other = parts ? values[0] : concat(values, 0);
      const Values results = split(known(whole) + other, int(found.sums.size()),
                                   int(split_node.attributes.get_int("axis", 0)));
      for (size_t k = 0; k < results.size(); ++k) known.set(found.sums[k]->result(), results[k]);
    };
    return group;
  }
  return std::nullopt;
}

// --- the pass

GraphPtr with_body(const Node& node, const GraphPtr& body) {
  auto graph = std::make_unique<Graph>("loop");
  Values operands;
  for (Value operand : node.operands)
    operands.push_back(graph->input(operand.type(), operand.name()));
  graph->set_results(
      results_of(graph->add(ops::scan, operands, node.attributes, {body}, node.where)));
  return freeze(std::move(graph));
}

/// The body of a scan with its products packed.
GraphPtr packed_body(const Node& node, GraphPtr body, Remarks& remarks) {
  const auto apply_groups = [&](std::vector<Group> (*find)(const Scan&), std::string_view what) {
    const GraphPtr loop = with_body(node, body);
    const std::vector<Group> groups = find(Scan(loop->nodes().back()));
    if (groups.empty()) return;
    body = replace_groups(*body, groups);
    remarks.add(node, fmt::format("{} {}", groups.size(), what));
  };
  apply_groups(products_over_concats, "products over concatenations became sums of products");
  apply_groups(sibling_products, "groups of products of one operand became one product each");
  while (const std::optional<Group> group = sum_of_parts(*body))
    body = replace_groups(*body, {*group});
  return body;
}

GraphPtr pack_loops(const GraphPtr& graph, Remarks& remarks) {
  bool changed = false;
  const GraphPtr result = rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!node.is(ops::scan)) return std::nullopt;
        const GraphPtr inner = pack_loops(node.regions[0], remarks);
        const GraphPtr body = packed_body(node, inner, remarks);
        if (body == node.regions[0]) return std::nullopt;
        changed = true;
        return results_of(copy_node(node, operands, to, {body}));
      });
  return changed ? result : graph;
}

GraphPtr run_pack_matmuls(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  return pack_loops(graph, remarks);
}

}  // namespace

constinit const Pass passes::pack_matmuls{
    .name = "pack-matmuls",
    .summary = "makes one product of those of a step that share their left operand",
    .options = "",
    .run = run_pack_matmuls,
};

}  // namespace graphc::core

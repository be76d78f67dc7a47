// SPDX-License-Identifier: Apache-2.0
// Table updates restricted to the rows that have a gradient.
//
// The gradient of a table that is only looked up is a scatter_add of rows onto zeros. Rows without
// a gradient can be skipped if every value computed elementwise from it is either the next value of
// a state that a zero gradient leaves unchanged, or is summed and zero where the gradient is zero.
// Then merge_rows sums the rows of each index, everything is computed for those rows only, and
// scatter writes them into the state. This holds for sgd, with or without clipping by norm, and for
// adagrad; not for momentum, rmsprop or adam, whose states decay everywhere.
//
// A factor of zero counts as zero: like every rule on sums of products, this assumes that the other
// factor is finite.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "passes/passes.h"

namespace graphc::core {
namespace {

/// A value where the gradient is zero: zero, another value (itself, if it does not depend on the
/// gradient), or neither.
struct AtZero {
  bool zero = false;
  Value same;
};

bool is_zero(const AtZero& x) { return x.zero; }

AtZero without_gradient(const Node& node, const std::vector<AtZero>& x) {
  const auto whole = [&](const AtZero& value) {
    return value.same && value.same.type() == node.types[0] ? value : AtZero{};
  };
  if (node.is(ops::add) && x[0].zero) return x[1].zero ? x[1] : whole(x[1]);
  if ((node.is(ops::add) || node.is(ops::sub)) && x[1].zero) return x[0].zero ? x[0] : whole(x[0]);
  if (node.is(ops::mul) && std::ranges::any_of(x, is_zero)) return {true, {}};
  if (node.is(ops::div) && x[0].zero) return {true, {}};
  if (node.is(ops::select) && x[1].zero && x[2].zero) return {true, {}};
  for (const Op* odd : {&ops::neg, &ops::abs, &ops::square, &ops::sqrt, &ops::cast, &ops::tanh}) {
    if (node.is(*odd) && x[0].zero) return {true, {}};
  }
  return {};
}

/// A table's gradient and everything computed from it.
class SparseUpdate {
 public:
  SparseUpdate(const Graph& graph, const Node& gradient) : graph_(graph), gradient_(gradient) {
    why_not_ = find_members();
    if (why_not_.empty()) why_not_ = check_next();
  }

  /// Empty if the update can be done by rows.
  const std::string& why_not() const { return why_not_; }
  const Node& gradient() const { return gradient_; }
  bool has(const Node& node) const { return members_.contains(&node) || sums_.contains(&node); }

  /// The replacement of a member in the new graph, computed on the touched rows.
  Values replace(const Node& node, const Values& operands, Graph& to) {
    const WhereScope where(node.where);
    if (&node == &gradient_) {
      std::tie(distinct_, rows_[&node]) = merge_rows(operands[1], operands[2], node.where);
      return {rows_[&node]};
    }
    Values of_rows;
    for (size_t i = 0; i < operands.size(); ++i)
      of_rows.push_back(rows_of(node.operands[i], operands[i], to));
    const Value result = copy_node(node, std::move(of_rows), to).result();
    if (sums_.contains(&node)) return {result};
    rows_[&node] = result;
    const auto state = next_.find(&node);
    return {state == next_.end() ? result : scatter(operands[state->second], distinct_, result)};
  }

 private:
  bool is_table(Value value) const { return value.shape() == gradient_.types[0].shape; }
  bool depends(Value value) const { return members_.contains(value.node); }

  /// Visits everything that depends on the gradient; returns what prevents the update, if anything.
  std::string find_members() {
    members_[&gradient_] = {true, {}};
    const std::vector<bool> live = live_nodes(graph_);
    for (const Node& node : graph_.nodes()) {
      if (!live[size_t(node.id)] ||
          std::ranges::none_of(node.operands, [&](Value operand) { return depends(operand); })) {
        continue;
      }
      if (node.is(ops::sum)) {
        const std::vector<int64_t> axes = node.attributes.get_ints("axes");
        if (!members_[node.operands[0].node].zero || std::ranges::find(axes, 0) == axes.end())
          return "%" + node.names[0] + " sums what is not zero without a gradient";
        sums_.insert(&node);
      } else if (is_elementwise(node.op) && is_table(node.result())) {
        members_[&node] = at_zero(node);
      } else {
        return "%" + node.names[0] + " reads the gradient as a whole";
      }
    }
    return {};
  }

  AtZero at_zero(const Node& node) {
    std::vector<AtZero> operands;
    for (Value operand : node.operands) {
      const auto member = members_.find(operand.node);
      operands.push_back(member != members_.end() ? member->second
                                                  : AtZero{is_splat(operand, 0), operand});
    }
    return without_gradient(node, operands);
  }

  std::string check_next() {
    for (Value result : graph_.results()) {
      if (depends(result)) return "%" + result.name() + " is a result";
    }
    for (const Next& next : graph_.next()) {
      if (!depends(next.value)) continue;
      if (members_[next.value.node].same != next.state && !mutated(Mutant::sparse_rows_skip_decay))
        return "%" + next.state.name() + " changes where the gradient is zero";
      const auto& operands = next.value.node->operands;
      const auto state = std::ranges::find(operands, next.state);
      if (state == operands.end() || next_.contains(next.value.node))
        return "%" + next.state.name() + " is not an operand of its next value";
      next_[next.value.node] = size_t(state - operands.begin());
    }
    return next_.empty() ? "no state is updated with it" : "";
  }

  /// The rows of an operand that belong to the distinct indices.
  Value rows_of(Value old, Value made, Graph& to) {
    if (depends(old)) return rows_.at(old.node);
    const Shape& table = gradient_.types[0].shape;
    const Shape& shape = old.shape();
    if (shape.rank() < table.rank() || (shape.rank() > 0 && shape[0] == 1 && table[0] != 1))
      return made;
    const Shape rows = shape.with(0, distinct_.shape()[0]);
    if (const std::optional<double> number = splat_value(old))
      return splat(to, *number, {old.dtype(), rows});
    Value& taken = taken_[{old.node, old.index}];
    // Past the end of the distinct indices any row will do: it is never used.
    if (!existing_) existing_ = maximum(distinct_, 0);
    if (!taken) taken = gather(made, existing_);
    return taken;
  }

  const Graph& graph_;
  const Node& gradient_;
  std::map<const Node*, AtZero> members_;  ///< elementwise, with the table's shape
  std::set<const Node*> sums_;
  std::map<const Node*, size_t> next_;  ///< index of the operand that is the state
  std::string why_not_;
  Value distinct_, existing_;
  std::map<const Node*, Value> rows_;
  std::map<std::pair<const Node*, int>, Value> taken_;
};

GraphPtr run_sparse_rows(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  std::vector<SparseUpdate> updates;
  const std::vector<bool> live = live_nodes(*graph);
  for (const Node& node : graph->nodes()) {
    if (!live[size_t(node.id)] || !node.is(ops::scatter_add) || !is_splat(node.operands[0], 0) ||
        graph->next().empty()) {
      continue;
    }
    const int64_t rows = node.operands[1].shape().elements(), table = node.types[0].shape[0];
    if (rows >= table) continue;
    SparseUpdate update(*graph, node);
    if (update.why_not().empty()) {
      remarks.add(node, fmt::format("at most {} of {} rows are updated", rows, table));
      updates.push_back(std::move(update));
    } else {
      remarks.add(node, fmt::format("all {} rows are updated: {}", table, update.why_not()));
    }
  }
  if (updates.empty()) return graph;
  return rewrite(*graph, [&](const Node& node, const Values& operands, Graph& to) {
    const auto update =
        std::ranges::find_if(updates, [&](const SparseUpdate& u) { return u.has(node); });
    return update == updates.end() ? std::nullopt
                                   : std::optional(update->replace(node, operands, to));
  });
}

}  // namespace

constinit const Pass passes::sparse_rows{
    .name = "sparse-rows",
    .summary = "updates only the rows of a table that have a gradient",
    .options = "",
    .run = run_sparse_rows,
};

}  // namespace graphc::core

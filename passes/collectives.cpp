// SPDX-License-Identifier: Apache-2.0
// Gives collectives the forms that targets have: all_reduce of floats, and all_gather along axis 0.
//
// With one rank they are their operands. The sum over ranks of a table's gradient, a scatter_add of
// rows onto zeros, is the scatter_add of the rows of all ranks: where these are fewer than the
// table's, indices and rows are gathered instead of the table, and sparse-rows updates those rows.
// Integers are gathered and summed, which no engine does for every type and which is exact.
#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/sent.h"
#include "passes/passes.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;

int64_t ranks_of(const Node& node) { return node.attributes.get_int("ranks", 1); }

/// The values of all ranks along a new first axis.
Value stacked(Value x, int64_t ranks, int64_t rank) {
  return all_gather(reshape(x, x.shape().insert(0, 1)), 0, ranks, rank);
}

/// The gathered value, from all_gather along axis 0: the ranks' axis moves before `axis`.
Value gathered_along(Value x, int axis, const Node& node) {
  const int64_t ranks = ranks_of(node), rank = node.attributes.get_int("rank", 0);
  if (axis == 0) return all_gather(x, 0, ranks, rank);
  const Shape& own = x.shape();
  // As three axes: what is before the axis, the axis, and what is after it.
  int64_t before = 1, after = 1;
  for (int i = 0; i < axis; ++i) before *= own[i];
  for (int i = axis + 1; i < own.rank(); ++i) after *= own[i];
  const Value all = all_gather(reshape(x, {before, own[axis] * after}), 0, ranks, rank);
  const Value by_rank = reshape(all, {ranks, before, own[axis] * after});
  return reshape(transpose(by_rank, {1, 0, 2}), node.types[0].shape);
}

bool is_scattered(Value value) {
  return value.node->is(ops::scatter_add) && is_splat(value.node->operands[0], 0);
}

/// Rows and indices of all ranks in place of a table's sum; absent if these are not fewer than the
/// table's rows.
Value sparse_sum(int64_t ranks, DType sent, const Values& terms, Graph& to) {
  if (!std::ranges::all_of(terms, is_scattered)) return {};
  const Type& table = terms[0].type();
  Values indices, rows;
  int64_t count = 0;
  for (const Value term : terms) {
    const Values& operands = term.node->operands;
    const int64_t own = operands[1].shape().elements();
    count += own;
    indices.push_back(reshape(operands[1], {own}));
    rows.push_back(reshape(operands[2], table.shape.with(0, own)));
  }
  const auto same_dtype = [&](Value each) { return each.dtype() == indices[0].dtype(); };
  if (count * ranks >= table.shape[0] || !std::ranges::all_of(indices, same_dtype)) return {};
  const auto gathered = [&](const Values& parts) {
    const Value own = parts.size() == 1 ? parts[0] : concat(parts, 0);
    const bool narrow = own.dtype() == DType::f32 && sent == DType::bf16;
    if (ranks == 1) return own;
    const Value all = all_gather(narrow ? cast(own, sent) : own, 0, ranks, 0);
    return narrow ? cast(all, own.dtype()) : all;
  };
  return scatter_add(splat(to, 0, table), gathered(indices), gathered(rows));
}

class Collectives {
 public:
  explicit Collectives(Remarks* remarks) : remarks_(remarks) {}

  GraphPtr run(const GraphPtr& graph) {
    const auto is_one = [](const Node& node) { return is_collective(node.op); };
    if (std::ranges::none_of(graph->nodes(), is_one)) return graph;
    return rewrite(
        *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
          if (!is_collective(node.op)) return std::nullopt;
          const WhereScope scope(node.where);
          if (node.is(ops::all_gather)) return gather(node, operands[0]);
          return reduce(node, operands, to);
        });
  }

 private:
  static std::optional<Values> gather(const Node& node, Value operand) {
    if (ranks_of(node) == 1) return Values{operand};
    const int axis = int(node.attributes.get_int("axis", 0));
    if (axis == 0) return std::nullopt;
    return Values{gathered_along(operand, axis, node)};
  }

  Values reduce(const Node& node, const Values& operands, Graph& to) const {
    const auto terms = node.attributes.get_int("terms", 1);
    Values results;
    for (auto first = operands.begin(); first != operands.end(); first += terms)
      results.push_back(reduced(node, Values(first, first + terms), to));
    return results;
  }

  Value reduced(const Node& node, Values terms, Graph& to) const {
    const int64_t ranks = ranks_of(node);
    // The rank does not matter to a gather that has no derivative any more.
    if (const Value sum = sparse_sum(ranks, sent_as(node), terms, to)) {
      if (remarks_ != nullptr) remarks_->add(node, "ranks exchange the rows of a table, not all");
      return sum;
    }
    const DType dtype = terms[0].dtype();
    if (is_integer(dtype)) {
      Value own = terms[0];
      for (size_t i = 1; i < terms.size(); ++i) own = own + terms[i];
      return ranks == 1 ? own : sum(stacked(own, ranks, 0), 0);
    }
    if (ranks == 1 && terms.size() == 1) return terms[0];
    const bool narrow = dtype == DType::bf16;
    for (Value& term : terms) term = narrow ? cast(term, DType::f32) : term;
    const Value sum =
        to.add(ops::all_reduce, std::move(terms), node.attributes, {}, node.where, {node.names[0]})
            .result();
    return narrow ? cast(sum, dtype) : sum;
  }

  Remarks* remarks_;
};

GraphPtr run_collectives(const GraphPtr& graph, const PassOptions&, Remarks& remarks) {
  const auto in_body = [](const GraphPtr& body) { return Collectives(nullptr).run(body); };
  return Collectives(&remarks).run(rewrite_regions(graph, in_body));
}

}  // namespace

constinit const Pass passes::collectives{
    .name = "collectives",
    .summary = "gives operations between ranks the forms that targets have",
    .options = "",
    .run = run_collectives,
};

}  // namespace graphc::core

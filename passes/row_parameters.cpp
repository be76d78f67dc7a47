// SPDX-License-Identifier: Apache-2.0
// Repeats parameters of each head, [heads, V], for the batch, [batch, heads, V], before loops whose
// rows [batch, heads] carry a matrix.
//
// All that such a step reads is then at a constant distance from row to row, so one count goes
// through all rows, whichever nest it is (LoopCall::rows_apart), and the loop needs no barriers.
// The copies are small beside the matrices; a matrix of each head is not repeated. The pass runs
// after all that would fold a product with 1.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scan.h"
#include "passes/hoist.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

/// The shape in which a step of these rows reads an operand of a value: that of the operand with
/// all rows, if it has those of heads alone and no matrices.
std::optional<Shape> shape_with_rows(const Shape& own, const Shape& value, const Shape& rows) {
  const int lead = rows.rank();
  if (own.rank() == 0 || rows[0] == 1) return std::nullopt;
  // All heads side by side: [batch, heads * V].
  if (value.rank() == lead && value[-1] > rows[-1] && value[-1] % rows[-1] == 0 &&
      std::equal(value.begin(), value.end() - 1, rows.begin()) && own.elements() == value[-1])
    return value;
  if (value.rank() < lead || !std::equal(rows.begin(), rows.end(), value.begin()))
    return std::nullopt;
  std::vector<int64_t> extents(size_t(value.rank() - own.rank()), 1);
  extents.insert(extents.end(), own.begin(), own.end());
  const auto behind = extents.begin() + lead;
  const bool has_heads = std::any_of(extents.begin() + 1, behind, [](int64_t n) { return n > 1; });
  const bool has_matrix = std::count_if(behind, extents.end(), [](int64_t n) { return n > 1; }) > 1;
  if (extents[0] != 1 || !has_heads || has_matrix) return std::nullopt;
  std::copy(rows.begin(), rows.end(), extents.begin());
  return Shape(extents);
}

/// What a step reads repeated, each once.
class RepeatedOperands {
 public:
  explicit RepeatedOperands(Graph& to) : to_(to) {}

  Value of(Value operand, const Shape& shape) {
    for (const auto& [from, repeated] : known_) {
      if (from == operand && repeated.shape() == shape) return repeated;
    }
    // A copy: repeated by its strides, it would not be at a constant distance.
    const Value repeated = operand * splat(to_, 1, {operand.dtype(), shape});
    known_.emplace_back(operand, repeated);
    return repeated;
  }

 private:
  Graph& to_;
  std::vector<std::pair<Value, Value>> known_;
};

/// The step with its operands repeated where they are read.
GraphPtr with_repeated_operands(const Scan& scan, const Shape& rows) {
  const Values captures(scan.body_captures().begin(), scan.body_captures().end());
  std::optional<RepeatedOperands> repeated;
  const auto change = [&](const Node& node, const Values& operands,
                          Graph& to) -> std::optional<Values> {
    if (!is_elementwise(node.op)) return std::nullopt;
    if (!repeated) repeated.emplace(to);
    const WhereScope scope(node.where);
    Values read = operands;
    for (size_t i = 0; i < read.size(); ++i) {
      const bool is_captured = std::ranges::find(captures, node.operands[i]) != captures.end();
      if (!is_captured || read[i].dtype() == DType::boolean) continue;
      const auto shape = shape_with_rows(read[i].shape(), node.types[0].shape, rows);
      if (shape && *shape != read[i].shape()) read[i] = repeated->of(read[i], *shape);
    }
    if (read == operands) return std::nullopt;
    return results_of(copy_node(node, std::move(read), to));
  };
  return rewrite(scan.body(), change);
}

Values repeated_before(const Node& node, const Values& operands, Graph& to, const Shape& rows);

/// The graph with repeated_before() for each scan that is `chosen`, of the rows that `rows_of`
/// says.
template <typename Chosen, typename RowsOf>
GraphPtr with_repeated_before(const GraphPtr& graph, const Chosen& chosen, const RowsOf& rows_of) {
  // What was read before it was repeated is captured no longer.
  return prune_scans(rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!chosen(node)) return std::nullopt;
        return repeated_before(node, operands, to, rows_of(node));
      }));
}

/// The scan in `to` with operands repeated that it and the scans inside read, before it.
Values repeated_before(const Node& node, const Values& operands, Graph& to, const Shape& rows) {
  Graph scratch;
  Values inputs;
  for (const Value operand : operands)
    inputs.push_back(scratch.input(operand.type(), operand.name()));
  const Node& changed =
      copy_node(node, inputs, scratch, {with_repeated_operands(Scan(node), rows)});
  const Node& repeating =
      copy_node(node, inputs, scratch,
                {with_repeated_before(
                    changed.regions[0], [](const Node& inner) { return inner.is(ops::scan); },
                    [&](const Node&) { return rows; })});
  if (std::optional<Values> hoisted = hoist_invariants(repeating, operands, to))
    return std::move(*hoisted);
  return results_of(copy_node(repeating, operands, to));
}

GraphPtr run_row_parameters(const GraphPtr& graph, const PassOptions&, Remarks&) {
  const auto has_heads = [](const Node& node) {
    return node.is(ops::scan) && !contains(node.region(), ops::matmul) &&
           matrix_row_axes(Scan(node)) > 1;
  };
  if (std::ranges::none_of(graph->nodes(), has_heads)) return graph;
  return with_repeated_before(graph, has_heads,
                              [](const Node& node) { return matrix_rows(Scan(node)); });
}

}  // namespace

constinit const Pass passes::row_parameters{
    .name = "row-parameters",
    .summary = "repeats parameters of heads for the batch before loops with matrices",
    .options = "",
    .run = run_row_parameters,
};

}  // namespace graphc::core

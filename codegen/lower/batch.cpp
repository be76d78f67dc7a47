// SPDX-License-Identifier: Apache-2.0
// Products of batches of matrices: the nest of the product of two matrices, and axes around it.
#include <algorithm>
#include <utility>

#include "codegen/lower/context.h"
#include "codegen/lower/panels.h"
#include "codegen/lower/rows.h"
#include "codegen/step/view.h"
#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc::core {
namespace {

/// The graph of the product of one pair of matrices.
GraphPtr product_of_matrices(const Node& batched) {
  auto body = std::make_unique<Graph>();
  Values operands;
  for (Value operand : batched.operands) {
    const Shape& shape = operand.shape();
    operands.push_back(body->input({operand.dtype(), {shape[-2], shape[-1]}}, operand.name()));
  }
  const Node& product =
      body->add(ops::matmul, std::move(operands), batched.attributes, {}, batched.where);
  body->set_results({product.result()});
  return freeze(std::move(body));
}

using Ints = std::vector<int64_t>;

/// Bytes between matrices along each axis of the batch; none where one matrix serves all.
Ints strides_of_batch(const View& view, int axes) {
  Ints strides(size_t(axes), 0);
  if (view.shape.rank() == 2) return strides;
  for (int axis = 0; axis < axes; ++axis)
    strides[size_t(axis)] = view.strides[size_t(axis)] * size_of(view.dtype);
  return strides;
}

/// Joins neighbouring axes of the batch where all strides let them be one, so that workers share
/// out more matrices. The first `row_axes` axes stay apart from those behind them.
void join_batch(Ints& extents, const std::vector<Ints*>& strides, int row_axes) {
  for (int axis = int(extents.size()) - 2; axis >= 0; --axis) {
    const size_t i = size_t(axis);
    const bool joined = std::ranges::all_of(
        strides, [&](const Ints* s) { return (*s)[i] == (*s)[i + 1] * extents[i + 1]; });
    if (!joined || axis + 1 == row_axes) continue;
    for (Ints* s : strides) s->erase(s->begin() + axis);
    extents[i + 1] *= extents[i];
    extents.erase(extents.begin() + axis);
  }
}

View first_matrix(const View& view) {
  View first = view;
  const int rank = view.shape.rank();
  first.shape = {view.shape[-2], view.shape[-1]};
  first.strides = {};
  for (int axis = 0; axis < 2; ++axis)
    first.strides[size_t(axis)] = view.strides[size_t(rank - 2 + axis)];
  return first;
}

}  // namespace

void lower_batched_product(LowerContext& context, const Node& product,
                           const std::vector<View>& inputs, const View& result,
                           const std::string& name) {
  if (result.shape.elements() == 0) return;
  std::vector<View> operands;
  for (Value operand : product.operands) {
    const Values& parameters = product.graph->inputs();
    const auto at = std::ranges::find(parameters, operand);
    operands.push_back(inputs[size_t(at - parameters.begin())]);
  }
  const GraphPtr body = product_of_matrices(product);
  const RowBinding first{.inputs = {first_matrix(operands[0]), first_matrix(operands[1])},
                         .results = {first_matrix(result)},
                         .name = name};
  std::vector<NestCall> calls = lower_rows(context, *body, *analyse_rows(*body), first);
  GRAPHC_CHECK(calls.size() == 1 && calls[0].products.size() == 1 && calls[0].outer.empty(),
               "%{} is not one product of matrices", name);
  NestCall& call = calls[0];
  const int axes = result.shape.rank() - 2;
  call.outer.assign(result.shape.begin(), result.shape.end() - 2);
  CallProduct& of_matrices = call.products[0];
  of_matrices.outer = strides_of_batch(operands[0], axes);
  of_matrices.right_outer = strides_of_batch(operands[1], axes);
  std::vector<Ints*> strides{&of_matrices.outer, &of_matrices.right_outer};
  const NestProgram& program = context.plan().programs[size_t(call.program)];
  for (size_t i = 0; i < call.operands.size(); ++i) {
    CallOperand& operand = call.operands[i];
    const bool stores = program.operands[i].kind == OperandKind::store;
    operand.outer = stores ? strides_of_batch(result, axes) : Ints(size_t(axes), 0);
    strides.push_back(&operand.outer);
  }
  join_batch(call.outer, strides, context.matrix_rows.rank());
  read_panels_of_repeated(context, calls);
  context.add(Family::batched_gemm, std::move(call));
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Products of batches of matrices: loops over the batch around the product of two matrices.
#include <algorithm>
#include <utility>

#include "codegen/lower/context.h"
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

/// `body` on every matrix of operands and result: a loop for each axis before the last two.
void lower_batch(LowerContext& context, const Graph& body, std::vector<View> operands,
                 const View& result, const std::string& name) {
  if (result.shape.rank() == 2)
    return lower_body(context, body, std::move(operands), {result}, name, Family::batched_gemm);
  if (result.shape.elements() == 0) return;
  LowerContext::OpenLoop loop;
  loop.call.name = name;
  loop.call.steps = result.shape[0];
  loop.call.id = context.new_loop_id();
  context.open(loop);
  for (View& operand : operands) {
    // One right matrix serves the whole batch.
    if (operand.shape.rank() > 2) operand = step_of(operand, loop.depth);
  }
  lower_batch(context, body, std::move(operands), step_of(result, loop.depth), name);
  context.close(loop, Family::batched_gemm);
}

}  // namespace

void lower_batched_product(LowerContext& context, const Node& product,
                           const std::vector<View>& inputs, const View& result,
                           const std::string& name) {
  std::vector<View> operands;
  for (Value operand : product.operands) {
    const Values& parameters = product.graph->inputs();
    const auto at = std::ranges::find(parameters, operand);
    operands.push_back(inputs[size_t(at - parameters.begin())]);
  }
  lower_batch(context, *product_of_matrices(product), std::move(operands), result, name);
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Products of batches of matrices: loops over the batch around the product of two matrices.
#include <algorithm>
#include <utility>

#include "codegen/lower/lowering.h"
#include "codegen/plan/view.h"
#include "ir/build.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc {
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

}  // namespace

void Lowering::lower_batched_product(const Node& product, const std::vector<View>& inputs,
                                     const View& result, const std::string& name) {
  std::vector<View> operands;
  for (Value operand : product.operands) {
    const Values& parameters = product.graph->inputs();
    const auto at = std::ranges::find(parameters, operand);
    operands.push_back(inputs[size_t(at - parameters.begin())]);
  }
  lower_batch(*product_of_matrices(product), std::move(operands), result, name);
}

void Lowering::lower_batch(const Graph& body, std::vector<View> operands, const View& result,
                           const std::string& name) {
  if (result.shape.rank() == 2)
    return lower_body(body, std::move(operands), {result}, name, "gemm");
  if (result.shape.elements() == 0) return;
  LoopCall loop;
  loop.name = name;
  loop.steps = result.shape[0];
  loop.id = loops_++;
  const int depth = depth_++, outer_scope = std::exchange(scope_, loop.id);
  plan_.loop_depth = std::max(plan_.loop_depth, depth_);
  for (View& operand : operands) {
    // One right matrix serves the whole batch.
    if (operand.shape.rank() > 2) operand = step_of(operand, depth);
  }
  std::vector<Record>* outer = std::exchange(records_, &loop.body);
  lower_batch(body, std::move(operands), step_of(result, depth), name);
  records_ = outer;
  scope_ = outer_scope;
  --depth_;
  add("gemm", std::move(loop));
}

}  // namespace graphc

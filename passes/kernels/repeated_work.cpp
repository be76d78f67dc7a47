// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/repeated_work.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "passes/kernels/clusters.h"
#include "passes/region.h"

namespace graphc::core {
namespace {

/// The most operations, in additions, and the most readers of a repeated node.
constexpr int64_t kMostOperations = 4;
constexpr size_t kMostReaders = 4;

bool is_matrix(const Shape& shape) { return shape.rank() > 2 && shape[-1] > 1 && shape[-2] > 1; }

bool is_cheap(const Node& node) {
  const Shape& shape = node.types[0].shape;
  if (!is_elementwise(node.op) || node.results() != 1 || !is_matrix(shape)) return false;
  const auto whole =
      std::ranges::count_if(node.operands, [&](Value operand) { return operand.shape() == shape; });
  return whole == 1 && emitted_instructions(node) <= kMostOperations;
}

}  // namespace

GraphPtr with_repeated_work(const GraphPtr& body) {
  std::vector<size_t> readers(body->nodes().size());
  const std::vector<bool> live = live_nodes(*body);
  for (const Node& node : body->nodes()) {
    if (!live[size_t(node.id)]) continue;
    for (Value operand : node.operands) ++readers[size_t(operand.node->id)];
  }
  // What is a result is stored anyhow.
  for (Value result : body->results()) readers[size_t(result.node->id)] = 0;
  const auto repeats = [&](const Node& node) {
    const size_t count = readers[size_t(node.id)];
    return count > 1 && count <= kMostReaders && is_cheap(node);
  };
  if (std::ranges::none_of(body->nodes(), repeats)) return body;

  auto copy = std::make_unique<Graph>(body->name());
  ValueMap known(*body);
  for (Value input : body->inputs())
    known.set(input, copy->input(input.type(), input.name(), input.node->where));
  const auto value_of = [&](Value old) {
    if (!repeats(*old.node)) return known.find(old);
    Values operands;
    for (Value operand : old.node->operands) operands.push_back(known.find(operand));
    return copy_node(*old.node, std::move(operands), *copy).result();
  };
  for (const Node& node : body->nodes()) {
    if (!live[size_t(node.id)] || node.is(ops::input)) continue;
    Values operands;
    for (Value operand : node.operands) operands.push_back(value_of(operand));
    const Node& made = copy_node(node, std::move(operands), *copy);
    for (int i = 0; i < node.results(); ++i) known.set(node.result(i), made.result(i));
  }
  Values results;
  for (Value result : body->results()) results.push_back(known.find(result));
  copy->set_results(std::move(results));
  return freeze(std::move(copy));
}

}  // namespace graphc::core

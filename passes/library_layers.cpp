// SPDX-License-Identifier: Apache-2.0
#include "passes/library_layers.h"

#include <algorithm>

#include "ir/op.h"

namespace graphc {

bool is_library_layer(const Node& node) {
  if (node.op.gradients == nullptr || node.attributes.get_bool("reverse", false)) return false;
  // A library refuses what has no elements.
  return std::ranges::all_of(node.operands, [](Value operand) {
    return operand.dtype() == DType::f32 && operand.shape().elements() > 0;
  });
}

const Node* layer_of_gradients(const Node& node) {
  for (const Value operand : node.operands) {
    const Node& layer = *operand.node;
    if (layer.op.gradients != &node.op || operand.index != 0 || !is_library_layer(layer)) continue;
    const size_t count = layer.operands.size();
    const bool is_pair = node.operands.size() > count && node.operands[count] == operand &&
                         std::ranges::equal(layer.operands, std::span(node.operands).first(count));
    if (is_pair) return &layer;
  }
  return nullptr;
}

bool is_done_by_library(const Node& node) {
  return is_library_layer(node) || layer_of_gradients(node) != nullptr;
}

}  // namespace graphc

// SPDX-License-Identifier: Apache-2.0
#include "passes/library_layers.h"

#include <algorithm>

#include "ir/op.h"

namespace graphc::core {

namespace {

/// The shapes of a layer's operands for given x and h: steps, rows, inputs and units.
std::vector<Shape> shapes_of(const Op& layer, const Shape& x, const Shape& h) {
  const int64_t inputs = x[2], units = h[1];
  const int64_t gates = &layer == &ops::lstm ? 4 : &layer == &ops::gru ? 3 : 1;
  const Shape state{x[1], units};
  std::vector<Shape> shapes{x, state};
  if (&layer == &ops::lstm) shapes.push_back(state);
  shapes.insert(shapes.end(), {{inputs, gates * units}, {units, gates * units}, {gates * units}});
  if (&layer == &ops::gru) shapes.push_back({units});
  return shapes;
}

std::vector<Type> types_of(std::span<const Value> values) {
  std::vector<Type> types;
  for (const Value value : values) types.push_back(value.type());
  return types;
}

}  // namespace

bool has_library_form(const Op& layer, std::span<const Type> operands) {
  if (layer.gradients == nullptr || operands.size() < 2) return false;
  const Shape& x = operands[0].shape;
  const Shape& h = operands[1].shape;
  if (x.rank() != 3 || h.rank() != 2) return false;
  const std::vector<Shape> shapes = shapes_of(layer, x, h);
  return std::ranges::equal(operands, shapes, [](const Type& operand, const Shape& shape) {
    // Libraries reject empty tensors.
    return operand == Type{DType::f32, shape} && shape.elements() > 0;
  });
}

bool is_library_layer(const Node& node) {
  return node.op.gradients != nullptr && !node.attributes.get_bool("reverse", false) &&
         has_library_form(node.op, types_of(node.operands));
}

const Node* layer_of_gradients(const Node& node) {
  for (const Value operand : node.operands) {
    const Node& layer = *operand.node;
    if (layer.op.gradients != &node.op || operand.index != 0 || !is_library_layer(layer)) continue;
    const size_t count = layer.operands.size();
    const std::span<const Value> all(node.operands);
    const bool is_pair = all.size() > count && all[count] == operand &&
                         std::ranges::equal(layer.operands, all.first(count)) &&
                         types_of(all.subspan(count + 1)) == layer.types;
    if (is_pair) return &layer;
  }
  return nullptr;
}

bool is_done_by_library(const Node& node) {
  return is_library_layer(node) || layer_of_gradients(node) != nullptr;
}

}  // namespace graphc::core

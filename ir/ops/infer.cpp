// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/infer.h"

#include <algorithm>

#include "ir/composite.h"

namespace graphc::core {

const Type& type_of(const Node& node, int operand) { return node.operands[size_t(operand)].type(); }

void expect_attributes(const Node& node, std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : node.attributes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw input_error({}, "{}: unknown attribute '{}': it has {}", node.op.name, name,
                      names.size() == 0 ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
}

void expect(const Node& node, size_t count, std::initializer_list<std::string_view> attributes) {
  if (node.operands.size() != count) {
    throw input_error({}, "{}: takes {} operand{}: found {}", node.op.name, count,
                      count == 1 ? "" : "s", node.operands.size());
  }
  expect_attributes(node, attributes);
}

namespace {

/// A hint for users who count axes from the end.
std::string from_the_end(int64_t axis, int rank) {
  return axis < 0 && axis >= -rank ? fmt::format("; the last is {}", rank - 1) : "";
}

}  // namespace

int axis_attribute(const Node& node, int rank, std::string_view name) {
  if (node.attributes.find(name) == nullptr)
    throw input_error({}, "{}: attribute '{}' is missing", node.op.name, name);
  const int64_t axis = node.attributes.get_int(name, 0);
  if (axis < 0 || axis >= rank) {
    throw input_error({}, "{}: {} {} is outside a value of rank {}{}", node.op.name, name, axis,
                      rank, from_the_end(axis, rank));
  }
  return int(axis);
}

std::vector<int64_t> axes_attribute(const Node& node, int rank) {
  if (node.attributes.find("axes") == nullptr)
    throw input_error({}, "{}: attribute 'axes' is missing", node.op.name);
  std::vector<int64_t> axes = node.attributes.get_ints("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) {
      throw input_error({}, "{}: axis {} is outside a value of rank {}{}", node.op.name, axes[i],
                        rank, from_the_end(axes[i], rank));
    }
    if (i > 0 && axes[i] <= axes[i - 1]) {
      throw input_error({}, "{}: axes are distinct and ascending: found [{}]", node.op.name,
                        fmt::join(axes, ","));
    }
  }
  return axes;
}

Shape shape_attribute(const Node& node) {
  if (node.attributes.find("shape") == nullptr)
    throw input_error({}, "{}: attribute 'shape' is missing", node.op.name);
  return Shape(node.attributes.get_ints("shape"));
}

int64_t sum_of_extents(const Node& node, std::initializer_list<int64_t> extents) {
  int64_t sum = 0;
  for (int64_t extent : extents) {
    if (__builtin_add_overflow(sum, extent, &sum))
      throw input_error({}, "{}: an extent of {} is more than a shape has", node.op.name,
                        fmt::join(extents, " + "));
  }
  return sum;
}

void check_number(const Node& node, std::string_view name, const Attribute& value) {
  if (std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value)) return;
  throw input_error({}, "{}: '{}' is a number: found {}", node.op.name, name, to_string(value));
}

void expect_floating(const Node& node, int operand) {
  if (!is_floating(type_of(node, operand).dtype)) {
    throw input_error({}, "{}: takes floating-point values: found {}", node.op.name,
                      to_string(type_of(node, operand)));
  }
}

void expect_key(const Node& node, int operand) {
  if (operand >= int(node.operands.size()) || type_of(node, operand) == Type{DType::i64, {}})
    return;
  throw input_error({}, "{}: a key is i64[]: found {}", node.op.name,
                    to_string(type_of(node, operand)));
}

std::vector<Type> infer_of_one_shape(const Node& node) {
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Type &first = type_of(node, 0), &other = type_of(node, int(i));
    if (other.shape == first.shape) continue;
    throw input_error({}, "{}: takes values of one shape: found {} and {}", node.op.name,
                      to_string(first), to_string(other));
  }
  return infer_by_body(node);
}

std::vector<Type> infer_draw(const Node& node) {
  expect_key(node, 0);
  return infer_by_body(node);
}

std::vector<Type> infer_floating(const Node& node) {
  expect(node, 1);
  expect_floating(node, 0);
  return {type_of(node, 0)};
}

std::vector<Type> infer_number(const Node& node) { return infer_number(node, {}); }

std::vector<Type> infer_number(const Node& node,
                               std::initializer_list<std::string_view> attributes) {
  expect(node, 1, attributes);
  if (type_of(node, 0).dtype == DType::boolean)
    throw input_error({}, "{}: takes numbers: found bool", node.op.name);
  return {type_of(node, 0)};
}

std::vector<Type> same_as_operand(const Node& node) {
  expect(node, 1);
  return {type_of(node, 0)};
}

std::vector<Type> broadcast_operands(const Node& node) {
  expect(node, 2);
  const Type &a = type_of(node, 0), &b = type_of(node, 1);
  if (a.dtype != b.dtype) {
    throw input_error({}, "{}: dtypes differ: {} and {}", node.op.name, to_string(a), to_string(b));
  }
  const std::optional<Shape> shape = broadcast(a.shape, b.shape);
  if (!shape)
    throw input_error({}, "{}: shapes do not broadcast: {} and {}", node.op.name, to_string(a),
                      to_string(b));
  return {{a.dtype, *shape}};
}

std::vector<Type> compare_operands(const Node& node) {
  return {{DType::boolean, broadcast_operands(node)[0].shape}};
}

Values no_gradient(const Node& node, std::span<const Value>) {
  return Values(node.operands.size());
}

Samples unary_samples() {
  return {{{{DType::f32, {2, 3}}}, {}}, {{{DType::f32, {}}}, {}}, {{{DType::f32, {3, 17}}}, {}}};
}

}  // namespace graphc::core

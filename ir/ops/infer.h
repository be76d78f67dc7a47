// SPDX-License-Identifier: Apache-2.0
// Shared helpers of the records in ir/ops/: checks of operands and attributes, with errors that
// name what was found and wanted.
#pragma once

#include <initializer_list>

#include "ir/op.h"

namespace graphc::core {

/// Throws unless the node has `count` operands and no attribute outside `attributes`.
void expect(const Node& node, size_t count,
            std::initializer_list<std::string_view> attributes = {});
/// Throws unless every attribute is one of `names`.
void expect_attributes(const Node& node, std::initializer_list<std::string_view> names);
/// The axis attribute `name`, checked against `rank`; throws if it is absent or out of range.
int axis_attribute(const Node& node, int rank, std::string_view name = "axis");
/// The attribute `axes`: ascending, distinct, within `rank`.
std::vector<int64_t> axes_attribute(const Node& node, int rank);
/// The attribute `shape`, which must be present.
Shape shape_attribute(const Node& node);
/// The sum of extents along an axis; throws if it exceeds the limit of a shape.
int64_t sum_of_extents(const Node& node, std::initializer_list<int64_t> extents);
/// Throws unless the attribute is a single number.
void check_number(const Node& node, std::string_view name, const Attribute& value);
/// Throws unless the operand has a floating-point dtype.
void expect_floating(const Node& node, int operand);

/// Throws unless the operand is a key: i64[].
void expect_key(const Node& node, int operand);

/// A composite whose operands must have one shape, although its body would broadcast them.
std::vector<Type> infer_of_one_shape(const Node& node);
/// A composite whose first operand is a key.
std::vector<Type> infer_draw(const Node& node);
/// One floating operand: its type.
std::vector<Type> infer_floating(const Node& node);
/// One numeric operand, not bool, and no attribute outside `attributes`: its type.
std::vector<Type> infer_number(const Node& node);
std::vector<Type> infer_number(const Node& node,
                               std::initializer_list<std::string_view> attributes);
std::vector<Type> same_as_operand(const Node& node);
/// Operands of one dtype, broadcast.
std::vector<Type> broadcast_operands(const Node& node);
/// The same, with a bool result.
std::vector<Type> compare_operands(const Node& node);

const Type& type_of(const Node& node, int operand);

/// The `vjp` of an op without derivatives: an absent value for each operand.
Values no_gradient(const Node& node, std::span<const Value> dy);

/// One f32 operand: a matrix, a scalar, and rows longer than a vector and not a multiple of one.
Samples unary_samples();

}  // namespace graphc::core

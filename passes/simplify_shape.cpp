// SPDX-License-Identifier: Apache-2.0
// The rules of simplify on ops that rearrange elements.
#include <algorithm>
#include <numeric>

#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/scan.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;
using Result = std::optional<Values>;

int axis_of(const Node& node) {
  const int axis = int(node.attributes.get_int("axis", 0));
  return axis < 0 ? axis + node.operands[0].shape().rank() : axis;
}

int64_t start_of(const Node& slice) { return slice.attributes.get_int("start", 0); }

Result same_type(const Node& node, Graph&) {
  if (node.operands[0].type() != node.types[0]) return std::nullopt;
  return node.operands;
}

Result shape_of_splat(const Node& node, Graph& to) {
  const std::optional<double> value = splat_value(node.operands[0]);
  if (!value) return std::nullopt;
  return Values(node.types.size(), splat(to, *value, node.types[0]));
}

Result reshape_of_reshape(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::reshape)) return std::nullopt;
  return Values{reshape(inner.operands[0], node.types[0].shape)};
}

Result broadcast_of_broadcast(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::broadcast_to)) return std::nullopt;
  return Values{broadcast_to(inner.operands[0], node.types[0].shape)};
}

Result identity_transpose(const Node& node, Graph&) {
  const Ints permutation = node.attributes.get_ints("permutation");
  if (!std::is_sorted(permutation.begin(), permutation.end())) return std::nullopt;
  return node.operands;
}

Result transpose_of_transpose(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::transpose)) return std::nullopt;
  const Ints first = inner.attributes.get_ints("permutation");
  Ints both;
  for (int64_t axis : node.attributes.get_ints("permutation")) both.push_back(first[size_t(axis)]);
  return Values{transpose(inner.operands[0], both)};
}

/// A transpose that only moves axes of extent 1 is a reshape.
Result transpose_of_units(const Node& node, Graph&) {
  const Shape& shape = node.operands[0].shape();
  Ints moved;
  for (int64_t axis : node.attributes.get_ints("permutation")) {
    if (shape[int(axis)] != 1) moved.push_back(axis);
  }
  if (!std::is_sorted(moved.begin(), moved.end())) return std::nullopt;
  return Values{reshape(node.operands[0], node.types[0].shape)};
}

Result slice_of_slice(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::slice) || axis_of(inner) != axis_of(node)) return std::nullopt;
  const int64_t before = mutated(Mutant::slice_of_slice_forgets_start) ? 0 : start_of(inner);
  const int64_t start = before + start_of(node);
  const int axis = axis_of(node);
  return Values{slice(inner.operands[0], axis, start, start + node.types[0].shape[axis])};
}

/// A slice of a concatenation that is within one part, or consists of whole parts.
Result slice_of_concat(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  const int axis = axis_of(node);
  if (!inner.is(ops::concat) || axis_of(inner) != axis) return std::nullopt;
  const int64_t start = start_of(node), limit = start + node.types[0].shape[axis];
  if (start == limit) return std::nullopt;
  Values whole;
  int64_t at = 0, begin = -1, end = -1;
  for (Value part : inner.operands) {
    const int64_t next = at + part.shape()[axis];
    if (at <= start && limit <= next) return Values{slice(part, axis, start - at, limit - at)};
    if (at >= start && next <= limit) {
      if (whole.empty()) begin = at;
      whole.push_back(part);
      end = next;
    }
    at = next;
  }
  if (begin != start || end != limit) return std::nullopt;
  return Values{concat(whole, axis)};
}

/// The axis of what a reshape reads that begins where an axis of its result does, and how many
/// indices of the one an index of the other is: [B, 4 * H] as [B, 4, H]. Nothing if it has none.
struct DividedAxis {
  int axis;
  int64_t each;
};
std::optional<DividedAxis> divided_axis(const Node& reshape, int axis) {
  const Shape &from = reshape.operands[0].shape(), &to = reshape.types[0].shape;
  const auto elements = [](const Shape& shape, int begin, int end) {
    int64_t product = 1;
    for (int i = begin; i < end; ++i) product *= shape[i];
    return product;
  };
  if (to.elements() == 0) return std::nullopt;
  const int64_t around = elements(to, 0, axis), inside = elements(to, axis + 1, to.rank());
  for (int f = 0; f < from.rank(); ++f) {
    if (from[f] == 1 || elements(from, 0, f) != around) continue;
    const int64_t rest = elements(from, f + 1, from.rank());
    if (inside % rest != 0) return std::nullopt;
    return DividedAxis{f, inside / rest};
  }
  return std::nullopt;
}

/// Cut first, and reshape the part: a cut of columns keeps the rows of a kernel.
Result slice_of_reshape(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::reshape)) return std::nullopt;
  const int axis = axis_of(node);
  const std::optional<DividedAxis> divided = divided_axis(inner, axis);
  if (!divided) return std::nullopt;
  const int64_t start = start_of(node), limit = start + node.types[0].shape[axis];
  const Value part =
      slice(inner.operands[0], divided->axis, start * divided->each, limit * divided->each);
  return Values{reshape(part, node.types[0].shape)};
}

/// The last step of an emitted `next` is the final carry.
Result slice_of_last_step(const Node& node, Graph&) {
  const Value value = node.operands[0];
  if (!value.node->is(ops::scan) || axis_of(node) != 0 || node.types[0].shape[0] != 1)
    return std::nullopt;
  const Scan scan(*value.node);
  const size_t emit = size_t(value.index);
  if (emit >= scan.emits().size()) return std::nullopt;
  if (start_of(node) != (scan.reverse() ? 0 : scan.steps() - 1)) return std::nullopt;
  for (size_t k = 0; k < scan.next().size(); ++k) {
    if (scan.next()[k] == scan.emits()[emit])
      return Values{reshape(scan.final(k), node.types[0].shape)};
  }
  return std::nullopt;
}

Result concat_of_one(const Node& node, Graph&) {
  if (node.operands.size() != 1) return std::nullopt;
  return node.operands;
}

Result concat_of_concat(const Node& node, Graph&) {
  Values parts;
  for (Value operand : node.operands) {
    const Node& inner = *operand.node;
    if (inner.is(ops::concat) && axis_of(inner) == axis_of(node))
      parts.insert(parts.end(), inner.operands.begin(), inner.operands.end());
    else if (operand.shape()[axis_of(node)] != 0)
      parts.push_back(operand);
  }
  if (parts == node.operands || parts.empty()) return std::nullopt;
  return Values{concat(parts, axis_of(node))};
}

Result concat_of_splats(const Node& node, Graph& to) {
  const std::optional<double> value = splat_value(node.operands[0]);
  if (!value) return std::nullopt;
  for (Value operand : node.operands) {
    if (!is_splat(operand, *value)) return std::nullopt;
  }
  return Values{splat(to, *value, node.types[0])};
}

/// A range of a value along the axis of a concatenation; a part that is a whole value covers all of
/// it.
struct Range {
  Value source;
  int64_t start, limit;
  Value part;
};

Range range_of(Value part, int axis) {
  const Node& node = *part.node;
  const int64_t extent = part.shape()[axis];
  if (node.is(ops::slice) && axis_of(node) == axis)
    return {node.operands[0], start_of(node), start_of(node) + extent, part};
  if (node.is(ops::split) && axis_of(node) == axis)
    return {node.operands[0], part.index * extent, (part.index + 1) * extent, part};
  return {part, 0, extent, part};
}

/// Adjacent ranges of one value are merged into one.
Result concat_of_ranges(const Node& node, Graph&) {
  const int axis = axis_of(node);
  std::vector<Range> ranges;
  for (Value part : node.operands) {
    const Range range = range_of(part, axis);
    if (!ranges.empty() && ranges.back().source == range.source &&
        ranges.back().limit == range.start)
      ranges.back() = {range.source, ranges.back().start, range.limit, {}};
    else
      ranges.push_back(range);
  }
  if (ranges.size() == node.operands.size()) return std::nullopt;
  Values parts;
  for (const Range& range : ranges) {
    const bool whole = range.start == 0 && range.limit == range.source.shape()[axis];
    parts.push_back(range.part ? range.part
                    : whole    ? range.source
                               : slice(range.source, axis, range.start, range.limit));
  }
  return Values{parts.size() == 1 ? parts[0] : concat(parts, axis)};
}

/// The part of a concatenation at [start, limit): a whole part or zeros, otherwise an absent value.
Value piece_of(const Node& concat, int axis, int64_t start, int64_t limit) {
  int64_t at = 0;
  for (Value part : concat.operands) {
    const int64_t next = at + part.shape()[axis];
    if (at == start && next == limit) return part;
    if (at <= start && limit <= next && is_splat(part, 0))
      return splat(*part.node->graph, 0, {part.dtype(), part.shape().with(axis, limit - start)});
    at = next;
  }
  return {};
}

/// The sum of two concatenations with zeros in complementary places, such as the gradients of
/// slices of one matrix, is a concatenation.
Result add_of_concats(const Node& node, Graph&) {
  const Node &a = *node.operands[0].node, &b = *node.operands[1].node;
  if (!a.is(ops::concat) || !b.is(ops::concat) || axis_of(a) != axis_of(b)) return std::nullopt;
  if (a.types != b.types) return std::nullopt;
  const int axis = axis_of(a);
  std::vector<int64_t> bounds{0};
  for (const Node* concat : {&a, &b}) {
    int64_t at = 0;
    for (Value part : concat->operands) bounds.push_back(at += part.shape()[axis]);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  Values parts;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Value left = piece_of(a, axis, bounds[i], bounds[i + 1]);
    const Value right = piece_of(b, axis, bounds[i], bounds[i + 1]);
    if (!left || !right || (!is_splat(left, 0) && !is_splat(right, 0))) return std::nullopt;
    parts.push_back(is_splat(left, 0) ? right : left);
  }
  if (parts.empty()) return std::nullopt;
  return Values{concat(parts, axis)};
}

Result split_into_one(const Node& node, Graph&) {
  if (node.types.size() != 1) return std::nullopt;
  return node.operands;
}

Result split_of_reshape(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::reshape)) return std::nullopt;
  const std::optional<DividedAxis> divided = divided_axis(inner, axis_of(node));
  if (!divided) return std::nullopt;
  Values parts = split(inner.operands[0], int(node.types.size()), divided->axis);
  for (Value& part : parts) part = reshape(part, node.types[0].shape);
  return parts;
}

Result split_of_concat(const Node& node, Graph&) {
  const Node& inner = *node.operands[0].node;
  if (!inner.is(ops::concat) || axis_of(inner) != axis_of(node)) return std::nullopt;
  if (inner.operands.size() != node.types.size()) return std::nullopt;
  for (size_t i = 0; i < node.types.size(); ++i) {
    if (inner.operands[i].type() != node.types[i]) return std::nullopt;
  }
  return inner.operands;
}

}  // namespace

std::span<const Rule> shape_rules() {
  static constexpr Rule rules[] = {
      {"reshape-same", &ops::reshape, same_type},
      {"reshape-splat", &ops::reshape, shape_of_splat},
      {"reshape-reshape", &ops::reshape, reshape_of_reshape},
      {"broadcast-same", &ops::broadcast_to, same_type},
      {"broadcast-splat", &ops::broadcast_to, shape_of_splat},
      {"broadcast-broadcast", &ops::broadcast_to, broadcast_of_broadcast},
      {"transpose-identity", &ops::transpose, identity_transpose},
      {"transpose-splat", &ops::transpose, shape_of_splat},
      {"transpose-transpose", &ops::transpose, transpose_of_transpose},
      {"transpose-units", &ops::transpose, transpose_of_units},
      {"reverse-splat", &ops::reverse, shape_of_splat},
      {"slice-whole", &ops::slice, same_type},
      {"slice-splat", &ops::slice, shape_of_splat},
      {"slice-slice", &ops::slice, slice_of_slice},
      {"slice-concat", &ops::slice, slice_of_concat},
      {"slice-reshape", &ops::slice, slice_of_reshape},
      {"slice-last-step", &ops::slice, slice_of_last_step},
      {"concat-one", &ops::concat, concat_of_one},
      {"concat-concat", &ops::concat, concat_of_concat},
      {"concat-splats", &ops::concat, concat_of_splats},
      {"concat-ranges", &ops::concat, concat_of_ranges},
      {"add-concats", &ops::add, add_of_concats},
      {"split-one", &ops::split, split_into_one},
      {"split-splat", &ops::split, shape_of_splat},
      {"split-concat", &ops::split, split_of_concat},
      {"split-reshape", &ops::split, split_of_reshape},
  };
  return rules;
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "ir/build.h"

#include <algorithm>

#include "ir/called.h"

namespace graphc::core {
namespace {

int depth(const Graph* graph) {
  int depth = 0;
  for (; graph != nullptr; graph = graph->parent()) ++depth;
  return depth;
}

const Graph* root_of(const Graph* graph) {
  while (graph->parent() != nullptr) graph = graph->parent();
  return graph;
}

/// Throws ErrorKind::input unless the value belongs to the graph or an enclosing graph.
void check_in_reach(const Graph& graph, Value value, Where where) {
  const Graph* const home = value.node->graph;
  for (const Graph* around = &graph; around != nullptr; around = around->parent())
    if (around == home) return;
  if (root_of(home) != root_of(&graph))
    throw input_error(where, "%{} is a value of another graph, '{}'", value.name(),
                      root_of(home)->name());
  Error error = input_error(where,
                            "%{} is a value of another loop's body: return it from that body, or "
                            "assign it to a state",
                            value.name());
  if (const Where& made = value.node->where)
    error.note(fmt::format("it is computed at {}:{}", made.file, made.line));
  throw error;
}

Attributes shape_attribute(const Shape& shape) {
  return {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}};
}

}  // namespace

WhereScope::WhereScope(Where where) : previous_(std::exchange(Called::line(), where)) {}
WhereScope::~WhereScope() { Called::line() = previous_; }

const Node& apply(const Op& op, std::vector<Operand> operands, Attributes attributes,
                  std::vector<GraphPtr> regions, Where where, std::vector<std::string> names) {
  where = Called::place(where);
  Graph* innermost = nullptr;
  DType dtype = DType::f32;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    operand.value().expect_usable(where ? where : operand.where());
    Graph* graph = operand.value().node->graph;
    if (innermost == nullptr || depth(graph) > depth(innermost)) innermost = graph;
    if (operand.value().dtype() != DType::boolean) dtype = operand.value().dtype();
  }
  if (innermost == nullptr)
    throw Called::in_its_words(input_error(where, "{}: takes at least one value", op.name));
  Values values;
  for (const Operand& operand : operands) {
    if (!operand.is_number()) {
      check_in_reach(*innermost, operand.value(), where ? where : operand.value().node->where);
      values.push_back(innermost->capture(operand.value()));
      continue;
    }
    // The type may not be able to represent the number.
    const Called called(op.name, where ? where : operand.where());
    values.push_back(scalar_constant(*innermost, operand.number(), dtype));
  }
  return innermost->add(op, std::move(values), std::move(attributes), std::move(regions), where,
                        std::move(names));
}

Value apply1(const Op& op, std::vector<Operand> operands, Attributes attributes, Where where) {
  return apply(op, std::move(operands), std::move(attributes), {}, where).result();
}

Value scalar_constant(Graph& graph, Numeral value, DType dtype) {
  return splat(graph, value, {dtype, {}});
}

Value splat(Graph& graph, Numeral value, const Type& type) {
  Attributes attributes = shape_attribute(type.shape);
  attributes.set("dtype", type.dtype);
  attributes.set("value", value.as_attribute(type.dtype));
  return graph.add(ops::constant, {}, std::move(attributes), {}, Called::line()).result();
}

std::optional<double> splat_value(Value value) {
  if (!value.node->is(ops::constant)) return std::nullopt;
  const Attribute* attribute = value.node->attributes.find("value");
  if (const auto* number = std::get_if<double>(attribute)) return *number;
  // An integer that a double would round is a different number; rules do not know it.
  constexpr int64_t most = int64_t{1} << 53;
  if (const auto* number = std::get_if<int64_t>(attribute)) {
    const bool exact = *number >= -most && *number <= most;
    return exact ? std::optional(double(*number)) : std::nullopt;
  }
  if (const auto* number = std::get_if<bool>(attribute)) return *number ? 1 : 0;
  return std::nullopt;
}

bool is_splat(Value value, double number) {
  const std::optional<double> found = splat_value(value);
  return found && *found == number;
}

Value iota(Graph& graph, const Shape& shape, int axis, DType dtype) {
  Attributes attributes = shape_attribute(shape);
  attributes.set("axis", int64_t(axis));
  attributes.set("dtype", dtype);
  return graph.add(ops::iota, {}, std::move(attributes), {}, Called::line()).result();
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b, Where where) {
  Attributes attributes;
  if (transpose_a) attributes.set("transpose_a", true);
  if (transpose_b) attributes.set("transpose_b", true);
  return apply1(ops::matmul, {a, b}, std::move(attributes), where);
}

Value reshape(Value x, const NewShape& shape, Where where) {
  const Called called("reshape", where);
  x.expect_usable(where);
  const Shape to = shape.of(x.type(), Called::place(where));
  return x.shape() == to ? x : apply1(ops::reshape, {x}, shape_attribute(to), where);
}

Value transpose(Value x, std::vector<int64_t> permutation, Where where) {
  x.expect_usable(where);
  for (int64_t& axis : permutation) axis = axis_of(int(axis), x.shape().rank());
  return apply1(ops::transpose, {x}, {{"permutation", std::move(permutation)}}, where);
}

Value transpose(Value x, int axis, int other, Where where) {
  x.expect_usable(where);
  const int rank = x.shape().rank(), a = axis_of(axis, rank), b = axis_of(other, rank);
  if (std::min(a, b) < 0 || std::max(a, b) >= rank) {
    throw input_error(where, "transpose: axes {} and {} are not both in {}", axis, other,
                      to_string(x.type()));
  }
  std::vector<int64_t> permutation = Axes().of(rank);
  std::swap(permutation[size_t(a)], permutation[size_t(b)]);
  return transpose(x, std::move(permutation), where);
}

Value broadcast_to(Value x, const Shape& shape, Where where) {
  const Called called("broadcast_to", where);
  x.expect_usable(where);
  return x.shape() == shape ? x : apply1(ops::broadcast_to, {x}, shape_attribute(shape), where);
}

Value slice(Value x, int axis, int64_t start, int64_t limit, Where where) {
  const Called called("slice", where);
  x.expect_usable(where);
  axis = axis_of(axis, x.shape().rank());
  if (axis >= 0 && axis < x.shape().rank()) {
    const int64_t extent = x.shape()[axis];
    if (start < 0 && start >= -extent) start += extent;
    if (limit < 0 && limit >= -extent) limit += extent;
  }
  return apply1(ops::slice, {x}, {{"axis", int64_t(axis)}, {"start", start}, {"limit", limit}},
                where);
}

Value at(Value x, int64_t index, int axis, Where where) {
  const Called called("at", where);
  x.expect_usable(where);
  const int rank = x.shape().rank(), along = axis_of(axis, rank);
  if (along < 0 || along >= rank)
    throw input_error(where, "at: axis {} is outside {}", axis, to_string(x.type()));
  const int64_t extent = x.shape()[along], start = index < 0 ? index + extent : index;
  if (start < 0 || start >= extent) {
    throw input_error(where, "at: {} is outside axis {} of {}", index, along, to_string(x.type()));
  }
  return reshape(slice(x, along, start, start + 1, where), x.shape().without(along), where);
}

Value Value::operator[](Index place) const { return at(*this, place.value, 0, place.where); }

Value Value::operator[](Slice part) const {
  expect_usable(part.where);
  const int axis = axis_of(part.axis, shape().rank());
  if (axis < 0 || axis >= shape().rank()) {
    throw input_error(part.where, "slice: axis {} is outside {}", part.axis, to_string(type()));
  }
  return slice(*this, axis, part.from, part.until.value_or(shape()[axis]), part.where);
}

Value concat(Values parts, int axis, Where where) {
  const Called called("concat", where);
  if (parts.empty()) throw input_error(where, "concat: takes at least one value");
  std::vector<Operand> operands;
  for (Value part : parts) {
    part.expect_usable(where);
    operands.emplace_back(part, where);
  }
  if (!parts.empty()) axis = axis_of(axis, parts[0].shape().rank());
  return apply1(ops::concat, std::move(operands), {{"axis", int64_t(axis)}}, where);
}

Values split(Value x, int parts, int axis, Where where) {
  const Called called("split", where);
  x.expect_usable(where);
  axis = axis_of(axis, x.shape().rank());
  const Node& node =
      apply(ops::split, {x}, {{"axis", int64_t(axis)}, {"parts", int64_t(parts)}}, {}, where);
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  return results;
}

std::vector<int64_t> Axes::of(int rank) const {
  std::vector<int64_t> axes;
  if (!axes_) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  } else {
    for (int64_t axis : *axes_) axes.push_back(axis_of(int(axis), rank));
  }
  std::ranges::sort(axes);
  return axes;
}

Shape NewShape::of(const Type& type, Where where) const {
  const auto unknown = std::ranges::find(extents_, -1);
  if (unknown == extents_.end()) return Shape(extents_);
  std::vector<int64_t> extents = extents_;
  int64_t& rest = extents[size_t(unknown - extents_.begin())];
  rest = 1;
  const bool one = std::ranges::count(extents, -1) == 0;
  const int64_t others = one ? Shape(extents).elements() : 0;
  if (others == 0 || type.shape.elements() % others != 0) {
    throw input_error(where, "reshape: no extent in the place of -1 brings {} to [{}]",
                      to_string(type), fmt::join(extents_, ","));
  }
  rest = type.shape.elements() / others;
  return Shape(extents);
}

namespace {

Value reduce(const Op& op, Value x, const Axes& axes, bool keep, Where where) {
  x.expect_usable(where);
  return apply1(op, {x}, {{"axes", axes.of(x.shape().rank())}, {"keep", keep}}, where);
}

/// The mean of no elements is NaN, never what a user wants. Passes and derivatives may reduce empty
/// values, because then the whole graph computes nothing.
void expect_elements(const char* what, Value x, const Axes& axes, Where where) {
  x.expect_usable(where);
  if (current_trace_number() == 0) return;
  for (const int64_t axis : axes.of(x.shape().rank())) {
    if (axis < 0 || axis >= x.shape().rank() || x.shape()[int(axis)] != 0) continue;
    throw input_error(where, "{}: %{} is {}: there are no elements along axis {}", what, x.name(),
                      to_string(x.type()), axis);
  }
}

/// All elements along one axis.
Value flat(Value x, Where where) {
  x.expect_usable(where);
  return reshape(x, {x.shape().elements()}, where);
}

}  // namespace

Value sum(Value x, const Axes& axes, bool keep, Where where) {
  return reduce(ops::sum, x, axes, keep, where);
}

Value mean(Value x, const Axes& axes, bool keep, Where where) {
  expect_elements("mean", x, axes, where);
  return reduce(ops::mean, x, axes, keep, where);
}

Value max(Value x, const Axes& axes, bool keep, Where where) {
  return reduce(ops::max, x, axes, keep, where);
}

Value min(Value x, const Axes& axes, bool keep, Where where) {
  return reduce(ops::min, x, axes, keep, where);
}

Value prod(Value x, const Axes& axes, bool keep, Where where) {
  return reduce(ops::prod, x, axes, keep, where);
}

Value variance(Value x, const Axes& axes, bool keep, Where where) {
  expect_elements("variance", x, axes, where);
  return reduce(ops::variance, x, axes, keep, where);
}

Value cumsum(Value x, int axis, bool reverse, Where where) {
  x.expect_usable(where);
  axis = axis_of(axis, x.shape().rank());
  return apply1(ops::cumsum, {x}, {{"axis", int64_t(axis)}, {"reverse", reverse}}, where);
}

Value argmax(Value x, int axis, Where where) {
  x.expect_usable(where);
  axis = axis_of(axis, x.shape().rank());
  return apply1(ops::argmax, {x}, {{"axis", int64_t(axis)}}, where);
}

Value argmax(Value x, Where where) {
  const Called called("argmax", where);
  return argmax(flat(x, where), 0, where);
}

Value argmin(Value x, int axis, Where where) {
  x.expect_usable(where);
  axis = axis_of(axis, x.shape().rank());
  return apply1(ops::argmin, {x}, {{"axis", int64_t(axis)}}, where);
}

Value argmin(Value x, Where where) {
  const Called called("argmin", where);
  return argmin(flat(x, where), 0, where);
}

std::pair<Value, Value> top_k(Value x, int64_t k, Where where) {
  const Called called("top_k", where);
  const Node& node = apply(ops::top_k, {x}, {{"k", k}}, {}, where);
  return {node.result(0), node.result(1)};
}

Value clip(Value x, Numeral low, Numeral high, Where where) {
  const Called called("clip", where);
  const DType dtype = x.dtype();
  return apply1(ops::clip, {x},
                {{"low", low.as_attribute(dtype)}, {"high", high.as_attribute(dtype)}}, where);
}

Value pad(Value x, std::vector<int64_t> low, std::vector<int64_t> high, Numeral value,
          Where where) {
  const Called called("pad", where);
  return apply1(ops::pad, {x},
                {{"low", std::move(low)},
                 {"high", std::move(high)},
                 {"value", value.as_attribute(x.dtype())}},
                where);
}

Value reverse(Value x, const Axes& axes, Where where) {
  const Called called("reverse", where);
  return apply1(ops::reverse, {x}, {{"axes", axes.of(x.shape().rank())}}, where);
}

Value gather(Value table, Value indices, Where where) {
  return apply1(ops::gather, {table, indices}, {}, where);
}

Value scatter_add(Value base, Value indices, Value rows, Where where) {
  return apply1(ops::scatter_add, {base, indices, rows}, {}, where);
}

Value scatter(Value base, Value indices, Value rows, Where where) {
  return apply1(ops::scatter, {base, indices, rows}, {}, where);
}

std::pair<Value, Value> merge_rows(Value indices, Value rows, Where where) {
  const Node& node = apply(ops::merge_rows, {indices, rows}, {}, {}, where);
  return {node.result(0), node.result(1)};
}

Values all_reduce(Values values, int64_t ranks, Where where) {
  const Node& node =
      apply(ops::all_reduce, {values.begin(), values.end()}, {{"ranks", ranks}}, {}, where);
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  return results;
}

Value all_gather(Value x, int axis, int64_t ranks, int64_t rank, Where where) {
  return apply1(ops::all_gather, {x}, {{"axis", int64_t(axis)}, {"rank", rank}, {"ranks", ranks}},
                where);
}

Value sum_to(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int extra = x.shape().rank() - shape.rank();
  std::vector<int64_t> axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (axis < extra || (shape[axis - extra] == 1 && x.shape()[axis] != 1)) axes.push_back(axis);
  }
  return reshape(axes.empty() ? x : sum(x, axes), shape);
}

}  // namespace graphc::core

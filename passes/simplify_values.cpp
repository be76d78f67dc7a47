// SPDX-License-Identifier: Apache-2.0
// The rules of simplify on computed values: constants, casts, reductions, products, broadcasting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "ir/build.h"
#include "ir/denormals.h"
#include "ir/evaluate.h"
#include "passes/region.h"
#include "passes/simplify_rules.h"

namespace graphc::core {
namespace {

using Ints = std::vector<int64_t>;
using Result = std::optional<Values>;

constexpr int64_t largest_folded_bytes = 4096;
constexpr int64_t most_elements_read = 1 << 16;

/// A constant with the elements of a literal; absent if an element is not finite.
Value constant_of(const Literal& literal, Graph& to) {
  const bool floating = is_floating(literal.dtype());
  std::vector<double> elements;
  bool same = true;
  for (int64_t i = 0; i < literal.elements(); ++i) {
    elements.push_back(literal.element(i));
    if (!std::isfinite(elements.back()) || std::abs(elements.back()) > 9e15) return {};
    same &= elements.back() == elements[0] &&
            std::signbit(elements.back()) == std::signbit(elements[0]);
  }
  Attributes attributes{{"dtype", literal.dtype()},
                        {"shape", Ints(literal.shape().begin(), literal.shape().end())}};
  if (same && !elements.empty()) {
    if (floating) return splat(to, elements[0], literal.type());
    if (literal.dtype() == DType::boolean)
      attributes.set("value", elements[0] != 0);
    else
      attributes.set("value", int64_t(elements[0]));
  } else if (floating) {
    attributes.set("value", elements);
  } else {
    attributes.set("value", Ints(elements.begin(), elements.end()));
  }
  return to.add(ops::constant, {}, std::move(attributes)).result();
}

bool may_be_folded(const Node& node) {
  if (node.operands.empty() || !node.regions.empty() || is_collective(node.op)) return false;
  if (node.is(ops::watch) || node.is(ops::stop_gradient) || node.is(ops::grad)) return false;
  for (const Type& type : node.types) {
    if (type.bytes() > largest_folded_bytes) return false;
  }
  return std::all_of(node.operands.begin(), node.operands.end(), [](Value operand) {
    return operand.node->is(ops::constant) && operand.shape().elements() <= most_elements_read;
  });
}

Evaluation evaluate_flushed(const Graph& graph) {
  const DenormalsFlushed flushed;
  return evaluate(graph, {});
}

/// Folds a node of constants to the evaluator's result if every target agrees: targets that flush
/// denormals evaluate those themselves.
Result fold_constants(const Node& node, Graph& to) {
  if (!may_be_folded(node)) return std::nullopt;
  auto graph = std::make_unique<Graph>("fold");
  Values operands;
  for (Value operand : node.operands)
    operands.push_back(copy_node(*operand.node, {}, *graph).result());
  graph->set_results(results_of(copy_node(node, std::move(operands), *graph)));
  const GraphPtr alone = freeze(std::move(graph));
  const Evaluation evaluation = evaluate(*alone, {});
  if (evaluate_flushed(*alone).results != evaluation.results) return std::nullopt;
  Values values;
  for (const Literal& literal : evaluation.results) {
    values.push_back(constant_of(literal, to));
    if (!values.back()) return std::nullopt;
  }
  return values;
}

Result cast_to_same(const Node& node, Graph&) {
  if (node.operands[0].type() != node.types[0]) return std::nullopt;
  return node.operands;
}

/// The largest n such that a type represents all integers up to n.
int64_t largest_exact(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 1;
    case DType::u8:
      return std::numeric_limits<uint8_t>::max();
    case DType::bf16:
      return 1 << 8;
    case DType::f32:
      return 1 << 24;
    case DType::i32:
      return std::numeric_limits<int32_t>::max();
    case DType::u32:
      return std::numeric_limits<uint32_t>::max();
    case DType::f64:
    case DType::i64:
      return int64_t{1} << 53;
  }
  return 0;
}

/// Only if every index is the same number in both types: an iota wraps or rounds in its own.
Result cast_of_iota(const Node& node, Graph& to) {
  const Node& inner = *node.operands[0].node;
  const DType from = inner.types[0].dtype, into = node.types[0].dtype;
  if (!inner.is(ops::iota) || into == DType::boolean) return std::nullopt;
  const bool along_axis = inner.attributes.find("axis") != nullptr;
  const Shape& shape = node.types[0].shape;
  const int64_t count =
      along_axis ? shape[int(inner.attributes.get_int("axis", 0))] : shape.elements();
  if (count - 1 > std::min(largest_exact(from), largest_exact(into))) return std::nullopt;
  Attributes attributes = inner.attributes;
  attributes.set("dtype", node.types[0].dtype);
  return Values{to.add(ops::iota, {}, std::move(attributes)).result()};
}

Result size_is_constant(const Node& node, Graph& to) { return Values{constant_size(node, to)}; }

Result select_by_constant(const Node& node, Graph&) {
  const std::optional<double> condition = splat_value(node.operands[0]);
  if (!condition) return std::nullopt;
  return Values{broadcast_to(node.operands[*condition != 0 ? 1 : 2], node.types[0].shape)};
}

/// Reducing axes of extent 1, or no axes, is a reshape.
Result reduce_nothing(const Node& node, Graph&) {
  const Value x = node.operands[0];
  for (int64_t axis : node.attributes.get_ints("axes")) {
    if (x.shape()[int(axis)] != 1) return std::nullopt;
  }
  return Values{reshape(x, node.types[0].shape)};
}

/// The matrix whose last two axes a transpose swaps, or an absent value.
Value transposed_matrix(Value value) {
  if (!value.node->is(ops::transpose)) return {};
  Ints permutation = value.node->attributes.get_ints("permutation");
  const size_t rank = permutation.size();
  if (rank < 2) return {};
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  if (!std::is_sorted(permutation.begin(), permutation.end())) return {};
  return value.node->operands[0];
}

Result matmul_of_transpose(const Node& node, Graph&) {
  Value a = node.operands[0], b = node.operands[1];
  bool ta = node.attributes.get_bool("transpose_a", false);
  bool tb = node.attributes.get_bool("transpose_b", false);
  const Value a_matrix = transposed_matrix(a), b_matrix = transposed_matrix(b);
  // Batches of transposed rows times one matrix have no derivative: do not create them.
  const bool a_fits = a_matrix && (a.shape().rank() == 2 || b.shape().rank() > 2);
  if (!a_fits && !b_matrix) return std::nullopt;
  if (a_fits) {
    a = a_matrix;
    ta = !ta;
  }
  if (b_matrix) {
    b = b_matrix;
    tb = !tb;
  }
  return Values{matmul(a, b, ta, tb)};
}

/// A product with zeros is zero, for example with the initial state of an unrolled loop. Non-finite
/// weights do not show in that step, as in a loop that skips its product.
Result product_of_zeros(const Node& node, Graph& to) {
  if (!is_splat(node.operands[0], 0) && !is_splat(node.operands[1], 0)) return std::nullopt;
  return Values{splat(to, 0, node.types[0])};
}

/// The number of all-zero indices at the beginning and the end of an axis.
struct Zeros {
  int64_t front = 0, back = 0;
};

/// For a concatenation along the axis, or one along the first axis in another shape.
Zeros zeros_along(Value value, int axis) {
  const Node& node = *value.node;
  if (node.is(ops::reshape) && axis == 0) {
    const Value inner = node.operands[0];
    if (inner.shape().rank() == 0 || value.shape().elements() == 0) return {};
    const Zeros zeros = zeros_along(inner, 0);
    // Elements per index of either; indices of one may not be whole indices of the other.
    const int64_t from = inner.shape().elements() / inner.shape()[0];
    const int64_t to = value.shape().elements() / value.shape()[0];
    return {zeros.front * from / to, zeros.back * from / to};
  }
  if (!node.is(ops::concat) || node.attributes.get_int("axis", 0) != axis) return {};
  const auto leading = [&](const auto& parts) {
    int64_t extent = 0;
    for (const Value part : parts) {
      if (!is_splat(part, 0)) break;
      extent += part.shape()[axis];
    }
    return extent;
  };
  return {leading(node.operands), leading(node.operands | std::views::reverse)};
}

/// Drops zeros at the ends of a product's summed axis: the initial state, when the gradient of a
/// matrix is summed over all steps.
Result product_without_zeros(const Node& node, Graph& to) {
  const Value a = node.operands[0], b = node.operands[1];
  const bool ta = node.attributes.get_bool("transpose_a", false);
  const bool tb = node.attributes.get_bool("transpose_b", false);
  const int a_axis = a.shape().rank() - (ta ? 2 : 1), b_axis = b.shape().rank() - (tb ? 1 : 2);
  if (a_axis < 0 || b_axis < 0) return std::nullopt;
  const Zeros of_a = zeros_along(a, a_axis), of_b = zeros_along(b, b_axis);
  const int64_t front = std::max(of_a.front, of_b.front), back = std::max(of_a.back, of_b.back);
  const int64_t terms = a.shape()[a_axis];
  if (front + back == 0) return std::nullopt;
  if (front + back >= terms) return Values{splat(to, 0, node.types[0])};
  return Values{
      matmul(slice(a, a_axis, front, terms - back), slice(b, b_axis, front, terms - back), ta, tb)};
}

/// The value and the factor of `mul(x, c)` with a constant c, or of `neg(x)`.
struct Scaled {
  Value x;
  double factor;
};

std::optional<Scaled> scaled(const Node& node) {
  if (node.is(ops::neg)) return Scaled{node.operands[0], -1};
  if (!node.is(ops::mul)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<double> factor = splat_value(node.operands[i]);
    const Value x = node.operands[1 - i];
    if (factor && x.type() == node.types[0]) return Scaled{x, *factor};
  }
  return std::nullopt;
}

/// Whether x(ab) equals (xa)b up to rounding for every x of the type. If both factors enlarge or
/// both diminish, overflow or underflow is the same; otherwise the first alone may cause it. The
/// product ab must be a normal number.
bool may_be_multiplied(double a, double b, DType dtype) {
  const bool wide = dtype == DType::f64;
  const double least =
      wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const double most = wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  a = std::abs(a);
  b = std::abs(b);
  return ((a >= 1 && b >= 1) || (a <= 1 && b <= 1)) && a * b >= least && a * b <= most &&
         holds(dtype, a * b);
}

/// mul(mul(x, a), b) is mul(x, ab).
Result merge_factors(const Node& node, Graph&) {
  if (!is_floating(node.types[0].dtype)) return std::nullopt;
  const std::optional<Scaled> outer = scaled(node);
  const std::optional<Scaled> inner = outer ? scaled(*outer->x.node) : std::nullopt;
  if (!inner || (node.is(ops::neg) && outer->x.node->is(ops::neg))) return std::nullopt;
  if (!may_be_multiplied(inner->factor, outer->factor, node.types[0].dtype)) return std::nullopt;
  return Values{inner->x * (inner->factor * outer->factor)};
}

/// Division by a power of two is multiplication by its inverse, exactly.
Result divide_by_power(const Node& node, Graph&) {
  const std::optional<double> divisor = splat_value(node.operands[1]);
  int exponent = 0;
  if (!divisor || !std::isfinite(*divisor) || std::abs(std::frexp(*divisor, &exponent)) != 0.5 ||
      std::abs(exponent) > 60)
    return std::nullopt;
  return Values{broadcast_to(node.operands[0] * (1 / *divisor), node.types[0].shape)};
}

/// The value before broadcasting, or the scalar of a splat constant.
Value unbroadcast(Value value, Graph& to) {
  if (value.node->is(ops::broadcast_to)) return value.node->operands[0];
  if (value.shape().rank() > 0) {
    if (const std::optional<double> number = splat_value(value))
      return splat(to, *number, {value.dtype(), {}});
  }
  return value;
}

/// Elementwise ops broadcast implicitly, so they can compute before broadcasting.
Result implicit_broadcast(const Node& node, Graph& to) {
  if (!is_elementwise(node.op) || node.is(ops::watch) || node.is(ops::stop_gradient))
    return std::nullopt;
  Values operands;
  Shape shape;
  bool any = false;
  for (Value operand : node.operands) {
    const bool broadcast_operand =
        operand.node->is(ops::broadcast_to) || (operand.shape().rank() > 0 && splat_value(operand));
    any |= broadcast_operand;
    operands.push_back(broadcast_operand ? unbroadcast(operand, to) : operand);
    shape = *broadcast(shape, operands.back().shape());
  }
  if (!any || operands.empty()) return std::nullopt;
  const Node& added =
      to.add(node.op, std::move(operands), node.attributes, {}, node.where,
             shape == node.types[0].shape ? node.names : std::vector<std::string>{});
  return Values{broadcast_to(added.result(), node.types[0].shape)};
}

}  // namespace

Value constant_size(const Node& size, Graph& to) {
  int64_t count = 1;
  for (int64_t axis : size.attributes.get_ints("axes"))
    count *= size.operands[0].shape()[int(axis)];
  if (size.types[0].dtype == DType::boolean) count = count != 0;
  return splat(to, count, size.types[0]);
}

std::span<const Rule> value_rules() {
  static constexpr Rule rules[] = {
      {"fold", nullptr, fold_constants},
      {"cast-same", &ops::cast, cast_to_same},
      {"cast-iota", &ops::cast, cast_of_iota},
      {"size", &ops::size, size_is_constant},
      {"select-constant", &ops::select, select_by_constant},
      {"sum-nothing", &ops::sum, reduce_nothing},
      {"max-nothing", &ops::max, reduce_nothing},
      {"matmul-transpose", &ops::matmul, matmul_of_transpose},
      {"matmul-zero", &ops::matmul, product_of_zeros},
      {"matmul-zero-terms", &ops::matmul, product_without_zeros},
      {"mul-mul", &ops::mul, merge_factors},
      {"neg-mul", &ops::neg, merge_factors},
      {"div-power", &ops::div, divide_by_power},
      {"implicit-broadcast", nullptr, implicit_broadcast},
      {"counter", &ops::scan, counters_are_streams},
  };
  return rules;
}

}  // namespace graphc::core

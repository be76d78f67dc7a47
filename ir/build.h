// SPDX-License-Identifier: Apache-2.0
// Building graphs from equations: functions and operators on Value that add a node and return its
// result.
//
// There is no builder object. A node goes into the innermost graph among its operands, so a
// computation that does not depend on a loop's values is automatically outside the loop. Values of
// enclosing graphs are captured (ir/graph.h). Passes, derivatives and the frontend all use these
// functions.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "ir/graph.h"
#include "ir/numeral.h"
#include "ir/op.h"

namespace graphc::core {

/// A value or a number, with its source line. A number takes the dtype of the values it is combined
/// with (see Numeral). A bool is not a number: comparing two values by C++ `==` compares node
/// identity.
class Operand {
 public:
  Operand(Value value, Where where = Where::here()) : value_(value), where_(where) {}
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  Operand(T number, Where where = Where::here())
      : number_(number), is_number_(true), where_(where) {}
  /// Anything that converts to a value, such as a frontend state.
  template <typename T>
    requires(std::is_class_v<T> && !std::is_same_v<T, Value> && std::is_convertible_v<T, Value>)
  Operand(const T& value, Where where = Where::here()) : value_(Value(value)), where_(where) {}

  bool is_number() const { return is_number_; }
  Value value() const { return value_; }
  Numeral number() const { return number_; }
  Where where() const { return where_; }

 private:
  Value value_;
  Numeral number_ = 0;
  bool is_number_ = false;
  Where where_;
};

/// During its lifetime, nodes without a line of their own get this one: passes set the line of the
/// node they replace.
class WhereScope {
 public:
  explicit WhereScope(Where where);
  ~WhereScope();
  WhereScope(const WhereScope&) = delete;

 private:
  Where previous_;
};

/// Adds a node to the innermost graph among the operands, at least one of which must be a value.
const Node& apply(const Op& op, std::vector<Operand> operands, Attributes attributes = {},
                  std::vector<GraphPtr> regions = {}, Where where = {},
                  std::vector<std::string> names = {});
/// The same, for an op with one result.
Value apply1(const Op& op, std::vector<Operand> operands, Attributes attributes = {},
             Where where = {});

/// A scalar constant in `graph`.
Value scalar_constant(Graph& graph, Numeral value, DType dtype = DType::f32);
/// A constant of this type with every element `value`. Throws ErrorKind::input if the type cannot
/// represent the number.
Value splat(Graph& graph, Numeral value, const Type& type);
/// The common value of all elements of a constant, if there is one and a double can represent it.
std::optional<double> splat_value(Value value);
/// splat_value() == number.
bool is_splat(Value value, double number);
/// 0, 1, 2, ... along `axis` of the shape. Throws ErrorKind::input if an integer type cannot
/// represent the last one.
Value iota(Graph& graph, const Shape& shape, int axis = 0, DType dtype = DType::i32);

#define GRAPHC_UNARY(name)                                  \
  inline Value name(Value x, Where where = Where::here()) { \
    return apply1(ops::name, {x}, {}, where);               \
  }
GRAPHC_UNARY(neg)
GRAPHC_UNARY(abs)
GRAPHC_UNARY(exp)
GRAPHC_UNARY(log)
GRAPHC_UNARY(sqrt)
GRAPHC_UNARY(rsqrt)
GRAPHC_UNARY(tanh)
GRAPHC_UNARY(sigmoid)
GRAPHC_UNARY(sin)
GRAPHC_UNARY(cos)
GRAPHC_UNARY(floor)
GRAPHC_UNARY(relu)
GRAPHC_UNARY(square)
GRAPHC_UNARY(hard_sigmoid)
GRAPHC_UNARY(logical_not)
GRAPHC_UNARY(sign)
GRAPHC_UNARY(ceil)
GRAPHC_UNARY(round)
GRAPHC_UNARY(reciprocal)
GRAPHC_UNARY(tan)
GRAPHC_UNARY(log1p)
GRAPHC_UNARY(expm1)
GRAPHC_UNARY(softplus)
GRAPHC_UNARY(silu)
GRAPHC_UNARY(gelu)
GRAPHC_UNARY(is_nan)
GRAPHC_UNARY(is_finite)
GRAPHC_UNARY(watch)
GRAPHC_UNARY(stop_gradient)
#undef GRAPHC_UNARY

#define GRAPHC_BINARY(name) \
  inline Value name(Operand a, Operand b) { return apply1(ops::name, {a, b}, {}, a.where()); }
GRAPHC_BINARY(maximum)
GRAPHC_BINARY(minimum)
GRAPHC_BINARY(pow)
GRAPHC_BINARY(equal)
GRAPHC_BINARY(not_equal)
GRAPHC_BINARY(less)
GRAPHC_BINARY(less_equal)
GRAPHC_BINARY(greater)
GRAPHC_BINARY(greater_equal)
GRAPHC_BINARY(logical_and)
GRAPHC_BINARY(logical_or)
GRAPHC_BINARY(logical_xor)
GRAPHC_BINARY(remainder)
#undef GRAPHC_BINARY

inline Value operator-(Operand x) { return apply1(ops::neg, {x}, {}, x.where()); }
inline Value operator+(Operand a, Operand b) { return apply1(ops::add, {a, b}, {}, a.where()); }
inline Value operator-(Operand a, Operand b) { return apply1(ops::sub, {a, b}, {}, a.where()); }
inline Value operator*(Operand a, Operand b) { return apply1(ops::mul, {a, b}, {}, a.where()); }
inline Value operator/(Operand a, Operand b) { return apply1(ops::div, {a, b}, {}, a.where()); }

inline Value& operator+=(Value& a, Operand b) {
  return a = apply1(ops::add, {a, b}, {}, b.where());
}
inline Value& operator-=(Value& a, Operand b) {
  return a = apply1(ops::sub, {a, b}, {}, b.where());
}
inline Value& operator*=(Value& a, Operand b) {
  return a = apply1(ops::mul, {a, b}, {}, b.where());
}
inline Value& operator/=(Value& a, Operand b) {
  return a = apply1(ops::div, {a, b}, {}, b.where());
}

/// The result of an elementwise comparison: a bool value for select(), cast() and the like. It is
/// known only at run time, so `if` on it does not compile.
struct Condition : Value {
  explicit operator bool() const = delete;  // write select(condition, a, b)
};
inline Condition operator<(Operand a, Operand b) { return {less(a, b)}; }
inline Condition operator<=(Operand a, Operand b) { return {less_equal(a, b)}; }
inline Condition operator>(Operand a, Operand b) { return {greater(a, b)}; }
inline Condition operator>=(Operand a, Operand b) { return {greater_equal(a, b)}; }
inline Condition operator!(Condition a) {
  return {apply1(ops::logical_not, {Operand(a, Where{})})};
}
inline Condition operator&&(Condition a, Condition b) { return {logical_and(a, b)}; }
inline Condition operator||(Condition a, Condition b) { return {logical_or(a, b)}; }

/// `a` where `condition` (bool) is true, otherwise `b`; broadcasts.
inline Value select(Value condition, Operand a, Operand b) {
  return apply1(ops::select, {condition, a, b}, {}, a.where());
}
inline Value cast(Value x, DType dtype, Where where = Where::here()) {
  x.expect_usable(where);
  return x.dtype() == dtype ? x : apply1(ops::cast, {x}, {{"dtype", dtype}}, where);
}
/// Matrix product over the last two axes, with leading batch axes; see ops::matmul.
Value matmul(Value a, Value b, bool transpose_a = false, bool transpose_b = false,
             Where where = Where::here());
/// The same elements in another shape: `reshape(x, {8, -1})`.
Value reshape(Value x, const NewShape& shape, Where where = Where::here());
Value transpose(Value x, std::vector<int64_t> permutation, Where where = Where::here());
/// Swaps two axes.
Value transpose(Value x, int axis, int other, Where where = Where::here());
Value broadcast_to(Value x, const Shape& shape, Where where = Where::here());
/// Elements start <= i < limit along an axis; negative bounds count from the end.
Value slice(Value x, int axis, int64_t start, int64_t limit, Where where = Where::here());
/// Element `index` along an axis, which is removed.
Value at(Value x, int64_t index, int axis = 0, Where where = Where::here());
/// `x` padded with `value`: low[i] elements before and high[i] after it along axis i.
Value pad(Value x, std::vector<int64_t> low, std::vector<int64_t> high, Numeral value = 0,
          Where where = Where::here());
/// The elements in reverse order along these axes.
Value reverse(Value x, const Axes& axes, Where where = Where::here());
Value concat(Values parts, int axis, Where where = Where::here());
Values split(Value x, int parts, int axis, Where where = Where::here());

// Reductions: `sum(x)` over all axes, `sum(x, -1)` over one, `sum(x, {0, 1})` over several; `keep`
// keeps them with extent 1.

Value sum(Value x, const Axes& axes = {}, bool keep = false, Where where = Where::here());
Value mean(Value x, const Axes& axes = {}, bool keep = false, Where where = Where::here());
Value max(Value x, const Axes& axes = {}, bool keep = false, Where where = Where::here());
Value min(Value x, const Axes& axes = {}, bool keep = false, Where where = Where::here());
Value prod(Value x, const Axes& axes = {}, bool keep = false, Where where = Where::here());
/// The population variance: the mean of the squared differences from the mean.
Value variance(Value x, const Axes& axes = {}, bool keep = false, Where where = Where::here());
/// The sum of each element and all preceding ones along the axis; with `reverse`, all following
/// ones.
Value cumsum(Value x, int axis, bool reverse = false, Where where = Where::here());
/// The index (i32) of the first largest or smallest element along the axis, which is removed;
/// without an axis, the row-major index over all elements.
Value argmax(Value x, int axis, Where where = Where::here());
Value argmax(Value x, Where where = Where::here());
Value argmin(Value x, int axis, Where where = Where::here());
Value argmin(Value x, Where where = Where::here());
/// The k largest elements along the last axis in descending order, and their indices (i32).
std::pair<Value, Value> top_k(Value x, int64_t k, Where where = Where::here());
/// Clamps each element to [low, high]; its type must be able to represent both.
Value clip(Value x, Numeral low, Numeral high, Where where = Where::here());
/// Rows of `table` (axis 0) selected by integer `indices`: shape indices ++ row.
Value gather(Value table, Value indices, Where where = Where::here());
Value scatter_add(Value base, Value indices, Value rows, Where where = Where::here());
/// `base` with rows (axis 0) replaced by `rows`; index -1 writes nothing.
Value scatter(Value base, Value indices, Value rows, Where where = Where::here());
/// The distinct indices in ascending order, padded with -1, and the sum of the rows of each; see
/// ops::merge_rows.
std::pair<Value, Value> merge_rows(Value indices, Value rows, Where where = Where::here());
/// The sums of values over the ranks; see ops::all_reduce.
Values all_reduce(Values values, int64_t ranks, Where where = Where::here());
/// The values of all ranks along an axis, in the graph of `rank`; see ops::all_gather.
Value all_gather(Value x, int axis, int64_t ranks, int64_t rank, Where where = Where::here());
/// Sums `x` down to `shape`, undoing a broadcast; returns `x` if the shapes are equal.
Value sum_to(Value x, const Shape& shape);

}  // namespace graphc::core

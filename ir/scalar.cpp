// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.h"

#include <algorithm>
#include <iterator>

#include "ir/op.h"

namespace graphc::core {
namespace {

/// What there is to know of an operation.
struct ScalarFacts {
  ScalarOp op;
  std::string_view name;
  int cost;
  bool elementary = false;
};

/// Of a vector, in additions: 8 to 16 on processors with AVX-512; about as many instructions on
/// GPUs.
constexpr int kDivision = 8;
/// A polynomial and what goes before and after it: tanh and sigmoid are 24 instructions of PTX,
/// and 25 to 35 of AVX-512 beside the constants. Of exp there are less, of pow, and of sin and cos
/// with the reduction of large arguments, more.
constexpr int kElementary = 24;

constexpr ScalarFacts elementary(ScalarOp op, std::string_view name) {
  return {op, name, kElementary, true};
}

constexpr ScalarFacts kScalarFacts[] = {
    {ScalarOp::argument, "argument", 0},
    {ScalarOp::constant, "constant", 0},
    {ScalarOp::neg, "neg", 1},
    {ScalarOp::abs, "abs", 1},
    elementary(ScalarOp::exp, "exp"),
    elementary(ScalarOp::expm1, "expm1"),
    elementary(ScalarOp::log, "log"),
    elementary(ScalarOp::log1p, "log1p"),
    {ScalarOp::sqrt, "sqrt", kDivision},
    elementary(ScalarOp::tanh, "tanh"),
    elementary(ScalarOp::sigmoid, "sigmoid"),
    elementary(ScalarOp::sin, "sin"),
    elementary(ScalarOp::cos, "cos"),
    {ScalarOp::floor, "floor", 1},
    {ScalarOp::logical_not, "logical_not", 1},
    {ScalarOp::cast, "cast", 1},
    {ScalarOp::add, "add", 1},
    {ScalarOp::sub, "sub", 1},
    {ScalarOp::mul, "mul", 1},
    {ScalarOp::div, "div", kDivision},
    {ScalarOp::maximum, "maximum", 1},
    {ScalarOp::minimum, "minimum", 1},
    elementary(ScalarOp::pow, "pow"),
    {ScalarOp::equal, "equal", 1},
    {ScalarOp::less, "less", 1},
    {ScalarOp::less_equal, "less_equal", 1},
    {ScalarOp::logical_and, "logical_and", 1},
    {ScalarOp::logical_or, "logical_or", 1},
    {ScalarOp::bit_and, "bit_and", 1},
    {ScalarOp::bit_or, "bit_or", 1},
    {ScalarOp::bit_xor, "bit_xor", 1},
    {ScalarOp::shift_left, "shift_left", 1},
    {ScalarOp::shift_right, "shift_right", 1},
    {ScalarOp::multiply_wide, "multiply_wide", 1},
    {ScalarOp::select, "select", 1},
};

constexpr bool has_a_row_for_each_op() {
  for (size_t i = 0; i < std::size(kScalarFacts); ++i) {
    if (size_t(kScalarFacts[i].op) != i) return false;
  }
  return std::size(kScalarFacts) == size_t(ScalarOp::select) + 1;
}
static_assert(has_a_row_for_each_op(), "a row for each operation, in the order of the enumeration");

}  // namespace

std::string_view name_of(ScalarOp op) { return kScalarFacts[size_t(op)].name; }

bool is_elementary(ScalarOp op) { return kScalarFacts[size_t(op)].elementary; }

int cost_of(ScalarOp op) { return kScalarFacts[size_t(op)].cost; }

Scalar emit(ScalarOp op, DType dtype, Scalar a, Scalar b, Scalar c) {
  ScalarCode* program = a.program();
  program->code.push_back({op, dtype, a.index(), b.index(), c.index(), 0});
  return {program, int(program->code.size()) - 1};
}

Scalar constant(Scalar like, Numeral value, DType dtype) {
  like.program()->code.push_back({ScalarOp::constant, dtype, -1, -1, -1, value});
  return {like.program(), int(like.program()->code.size()) - 1};
}
Scalar constant(Scalar like, Numeral value) { return constant(like, value, like.dtype()); }

Scalar operator-(Scalar a) { return emit(ScalarOp::neg, a.dtype(), a); }
Scalar operator+(Scalar a, Scalar b) { return emit(ScalarOp::add, a.dtype(), a, b); }
Scalar operator-(Scalar a, Scalar b) { return emit(ScalarOp::sub, a.dtype(), a, b); }
Scalar operator*(Scalar a, Scalar b) { return emit(ScalarOp::mul, a.dtype(), a, b); }
Scalar operator/(Scalar a, Scalar b) { return emit(ScalarOp::div, a.dtype(), a, b); }
Scalar operator+(Scalar a, double b) { return a + constant(a, b); }
Scalar operator+(double a, Scalar b) { return constant(b, a) + b; }
Scalar operator-(Scalar a, double b) { return a - constant(a, b); }
Scalar operator-(double a, Scalar b) { return constant(b, a) - b; }
Scalar operator*(Scalar a, double b) { return a * constant(a, b); }
Scalar operator*(double a, Scalar b) { return constant(b, a) * b; }
Scalar operator/(double a, Scalar b) { return constant(b, a) / b; }

Scalar select(Scalar condition, Scalar a, Scalar b) {
  return emit(ScalarOp::select, a.dtype(), condition, a, b);
}
Scalar cast(Scalar a, DType dtype) {
  return a.dtype() == dtype ? a : emit(ScalarOp::cast, dtype, a);
}

bool is_exact(const ScalarCode& program) {
  return std::ranges::none_of(program.code,
                              [](const ScalarInstruction& in) { return is_elementary(in.op); });
}

ScalarCode scalar_code(const Node& node) {
  GRAPHC_CHECK(is_elementwise(node.op), "'{}' is not elementwise", node.op.name);
  ScalarCode program;
  std::vector<Scalar> operands;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    program.code.push_back({ScalarOp::argument, node.operands[i].dtype(), int(i), -1, -1, 0});
    operands.emplace_back(&program, int(i));
  }
  program.result = node.op.scalar(node, operands).index();
  return program;
}

}  // namespace graphc::core

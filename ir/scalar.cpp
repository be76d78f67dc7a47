// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.h"

#include <algorithm>
#include <iterator>

#include "ir/op.h"

namespace graphc::core {

std::string_view name_of(ScalarOp op) {
  constexpr std::string_view names[] = {
      "argument",    "constant",      "neg",     "abs",    "exp",     "log",
      "sqrt",        "tanh",          "sigmoid", "sin",    "cos",     "floor",
      "logical_not", "cast",          "add",     "sub",    "mul",     "div",
      "maximum",     "minimum",       "pow",     "equal",  "less",    "less_equal",
      "logical_and", "logical_or",    "bit_and", "bit_or", "bit_xor", "shift_left",
      "shift_right", "multiply_wide", "select"};
  static_assert(std::size(names) == size_t(ScalarOp::select) + 1);
  return names[size_t(op)];
}

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

bool is_elementary(ScalarOp op) {
  switch (op) {
    case ScalarOp::exp:
    case ScalarOp::log:
    case ScalarOp::tanh:
    case ScalarOp::sigmoid:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::pow:
      return true;
    default:
      return false;
  }
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

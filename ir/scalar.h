// SPDX-License-Identifier: Apache-2.0
// Scalar programs: the effect of an elementwise op on one element, written once with C++ operators
// on Scalar handles and read by the evaluator and by LLVM and CUDA code generation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/numeral.h"
#include "ir/type.h"

namespace graphc::core {

struct Node;

/// The primitive operations of a target. Comparisons and logic return bool; `cast` converts to the
/// type of the instruction; integer operations wrap; shifts are logical; `multiply_wide` is the i64
/// product of the lower halves, as u32, of two i64.
enum class ScalarOp : uint8_t {
  argument,
  constant,
  neg,
  abs,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  tanh,
  sigmoid,
  sin,
  cos,
  floor,
  logical_not,
  cast,
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  pow,
  equal,
  less,
  less_equal,
  logical_and,
  logical_or,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  multiply_wide,
  select,
};

/// The name as spelled above.
std::string_view name_of(ScalarOp op);

/// One operation of a scalar program. `a`, `b`, `c` are indices of earlier instructions; for
/// `argument`, `a` is the number of the operand.
struct ScalarInstruction {
  ScalarOp op;
  DType dtype;
  int a = -1, b = -1, c = -1;
  Numeral constant = 0;
};

/// Straight-line code: instructions in order; the last one is not necessarily the result.
struct ScalarCode {
  std::vector<ScalarInstruction> code;
  int result = -1;
};

/// A handle to one value of a scalar program under construction.
class Scalar {
 public:
  Scalar() = default;
  Scalar(ScalarCode* program, int index) : program_(program), index_(index) {}

  DType dtype() const { return program_->code[size_t(index_)].dtype; }
  int index() const { return index_; }
  ScalarCode* program() const { return program_; }

 private:
  ScalarCode* program_ = nullptr;
  int index_ = -1;
};

/// Appends an instruction to the program of `a`.
Scalar emit(ScalarOp op, DType dtype, Scalar a, Scalar b = {}, Scalar c = {});
/// A constant in the program and, unless given, of the dtype of `like`.
Scalar constant(Scalar like, Numeral value);
Scalar constant(Scalar like, Numeral value, DType dtype);

Scalar operator-(Scalar a);
Scalar operator+(Scalar a, Scalar b);
Scalar operator-(Scalar a, Scalar b);
Scalar operator*(Scalar a, Scalar b);
Scalar operator/(Scalar a, Scalar b);
Scalar operator+(Scalar a, double b);
Scalar operator+(double a, Scalar b);
Scalar operator-(Scalar a, double b);
Scalar operator-(double a, Scalar b);
Scalar operator*(Scalar a, double b);
Scalar operator*(double a, Scalar b);
Scalar operator/(double a, Scalar b);
Scalar select(Scalar condition, Scalar a, Scalar b);
Scalar cast(Scalar a, DType dtype);

/// The program of an elementwise node: one argument per operand, of the operand's dtype.
ScalarCode scalar_code(const Node& node);

/// Whether it is an elementary function, which targets compute to a few ulp instead of exactly.
bool is_elementary(ScalarOp op);

/// The approximate cost in additions: of time in a vector or a GPU thread, and of instructions.
int cost_of(ScalarOp op);

/// Whether every instruction has a unique bit-exact result: arithmetic rounded once, comparisons,
/// integers, bits. Targets agree on elementary functions only to a few ulp.
bool is_exact(const ScalarCode& program);

}  // namespace graphc::core

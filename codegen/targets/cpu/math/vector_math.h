// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 as straight-line vector code.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "codegen/targets/cpu/cpu_features.h"
#include "codegen/targets/cpu/jit/code_module.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// The functions of one operand that VectorMath emits.
enum class MathFunction { exp, expm1, log, log1p, tanh, sigmoid, sqrt, rsqrt, floor, sin, cos };

std::string_view name_of(MathFunction function);
std::span<const MathFunction> all_math_functions();

/// Emits elementary functions at the builder's insertion point, as SSA without branches, calls or
/// memory. An operand is `float` or `<N x float>` for any N; the result has its type.
///
/// Errors are at most 5 ulp over every float, denormal results included; with FMA the largest are
/// exp 2.3, expm1 1.8, log 0.9, log1p 1.5, tanh 4.9, sigmoid 3.6, sqrt 0.5, rsqrt 1.5, floor 0,
/// sin 3.0, cos 3.0 and pow 0.6. NaN gives NaN; infinities give the limits: exp(-inf) = 0,
/// log(0) = -inf, log(x < 0) = NaN, tanh(+-inf) = +-1, sigmoid(-inf) = 0, sin(inf) = NaN. tanh and
/// sigmoid never leave [-1, 1] and [0, 1]. expm1, log1p, tanh, sqrt, floor and sin keep the sign of
/// zero. Rounding to nearest is assumed. In a thread that flushes denormals (ir/denormals.h) they
/// are zeros, as operands and as results, and other errors stay at most 5 ulp.
class VectorMath {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// Both must outlive this object. `cpu` selects the instructions.
  VectorMath(llvm::IRBuilderBase& builder, const CpuFeatures& cpu) : builder_(builder), cpu_(cpu) {}

  llvm::Value* exp(llvm::Value* x) const;
  llvm::Value* expm1(llvm::Value* x) const;
  llvm::Value* log(llvm::Value* x) const;
  llvm::Value* log1p(llvm::Value* x) const;
  llvm::Value* tanh(llvm::Value* x) const;
  llvm::Value* sigmoid(llvm::Value* x) const;
  llvm::Value* sqrt(llvm::Value* x) const;
  llvm::Value* rsqrt(llvm::Value* x) const;  ///< 1 / sqrt(x), two roundings
  llvm::Value* floor(llvm::Value* x) const;
  llvm::Value* sin(llvm::Value* x) const;  ///< in radians
  llvm::Value* cos(llvm::Value* x) const;
  /// x to the power y, with the special values of C's powf: pow(x, 0) = pow(1, y) = 1 also for NaN,
  /// and a negative x has a power only where y is an integer, else NaN.
  llvm::Value* pow(llvm::Value* x, llvm::Value* y) const;
  llvm::Value* apply(MathFunction function, llvm::Value* x) const;

  /// a * b + c, rounded once if the CPU has FMA, else twice. Never a library call.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;

  /// The smaller, or larger, of x and the limit; x if x is NaN. One instruction.
  llvm::Value* at_most(llvm::Value* x, double limit) const;
  llvm::Value* at_least(llvm::Value* x, double limit) const;

 private:
  struct Reduced;  // x = n ln 2 + r
  struct Parts {   // x = 2^e (1 + f)
    llvm::Value *f, *e;
    llvm::Value* exponent;  // e in the place of an exponent's bits
  };
  struct Quadrant {  // |x| = q pi/2 + r, q modulo 4
    llvm::Value *r, *q;
  };
  enum class Ahead { none, quadrant };  // offset added to an argument: selects sine or cosine

  /// x / y for y from 1 to 2^100, with about the rounding error of a division.
  llvm::Value* divide(llvm::Value* x, llvm::Value* y) const;
  /// An approximation of 1 / x within 2^-14.
  llvm::Value* reciprocal_estimate(llvm::Value* x) const;
  llvm::Value* constant(llvm::Value* like, double value) const;
  llvm::Value* integer(llvm::Value* like, int32_t value) const;
  llvm::Value* bits(llvm::Value* x) const;
  llvm::Value* polynomial(llvm::Value* x, llvm::Value* square,
                          std::span<const double> coefficients) const;
  Reduced reduce(llvm::Value* x) const;
  llvm::Value* power_of_two(llvm::Value* n) const;
  llvm::Value* scale(llvm::Value* x, const Reduced& by) const;
  Parts parts_of(llvm::Value* x) const;
  Parts parts_of_normal(llvm::Value* x) const;
  llvm::Value* log_from(const Parts& parts, llvm::Value* x) const;
  Quadrant quadrant(llvm::Value* size) const;
  llvm::Value* sine(llvm::Value* x, Ahead ahead) const;
  llvm::Value* log2_wide(llvm::Value* x) const;
  llvm::Value* exp2_wide(llvm::Value* x) const;
  llvm::Value* exp_between(llvm::Value* x, double low, double high) const;

  llvm::IRBuilderBase& builder_;
  const CpuFeatures& cpu_;
};

/// The C type of emit_math_loop()'s kernel.
using MathLoop = void (*)(const float* x, float* y, int64_t count);

/// A kernel `name_of(function)` of type MathLoop: y[i] = function(x[i]) in vectors of `lanes`.
/// `count` is a multiple of `lanes`; x and y may be the same array. The smallest example of an
/// emitter; the functions' tests and timings run it.
CodeModule emit_math_loop(const CpuFeatures& cpu, MathFunction function, int lanes);

/// The C type of emit_pow_loop()'s kernel.
using PowLoop = void (*)(const float* x, const float* y, float* z, int64_t count);

/// The same for z[i] = pow(x[i], y[i]): a kernel `pow` of type PowLoop.
CodeModule emit_pow_loop(const CpuFeatures& cpu, int lanes);

}  // namespace graphc::core::cpu

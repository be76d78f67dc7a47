// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdlib>

#include "tests/cuda/emulator/builtins.h"
#include "tests/cuda/emulator/lanes.h"

namespace graphc::core::cuda_emulator {
namespace {

using I = int32_t;
using U = uint32_t;
using L = int64_t;
using W = uint64_t;
using F = float;
using D = double;

template <typename T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(a, b);
  else
    return b < a ? b : a;
}

template <typename T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(a, b);
  else
    return a < b ? b : a;
}

template <typename T>
T absolute(T a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(a);
  else
    return a < 0 ? T(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a)) : a;
}

// Of both widths: the names with and without the suffix.
#define GRAPHC_UNARY(name, value)                                     \
  {name, "d:d", unary_operation<D, D, [](D a) { return value; }>}, {  \
    name "f", "f:f", unary_operation<F, F, [](F a) { return value; }> \
  }
#define GRAPHC_BINARY(name, function)                                                    \
  {name, "d:dd", binary_operation<D, D, D, [](D a, D b) { return function(a, b); }>}, {  \
    name "f", "f:ff", binary_operation<F, F, F, [](F a, F b) { return function(a, b); }> \
  }

template <typename To, typename From>
constexpr Operation same_bits =
    unary_operation<To, From, [](From a) { return std::bit_cast<To>(a); }>;

}  // namespace

std::span<const Builtin> mathematical_builtins() {
  static const Builtin table[] = {
      GRAPHC_UNARY("exp", std::exp(a)),
      GRAPHC_UNARY("expm1", std::expm1(a)),
      GRAPHC_UNARY("exp2", std::exp2(a)),
      GRAPHC_UNARY("log", std::log(a)),
      GRAPHC_UNARY("log1p", std::log1p(a)),
      GRAPHC_UNARY("log2", std::log2(a)),
      GRAPHC_UNARY("tanh", std::tanh(a)),
      GRAPHC_UNARY("sin", std::sin(a)),
      GRAPHC_UNARY("cos", std::cos(a)),
      GRAPHC_UNARY("tan", std::tan(a)),
      GRAPHC_UNARY("asin", std::asin(a)),
      GRAPHC_UNARY("acos", std::acos(a)),
      GRAPHC_UNARY("atan", std::atan(a)),
      GRAPHC_UNARY("sinh", std::sinh(a)),
      GRAPHC_UNARY("cosh", std::cosh(a)),
      GRAPHC_UNARY("sqrt", std::sqrt(a)),
      GRAPHC_UNARY("rsqrt", decltype(a)(1 / std::sqrt(D(a)))),
      GRAPHC_UNARY("floor", std::floor(a)),
      GRAPHC_UNARY("ceil", std::ceil(a)),
      GRAPHC_UNARY("rint", std::rint(a)),
      GRAPHC_UNARY("trunc", std::trunc(a)),
      GRAPHC_UNARY("fabs", std::fabs(a)),
      GRAPHC_UNARY("erf", std::erf(a)),
      GRAPHC_BINARY("pow", std::pow),
      GRAPHC_BINARY("fmin", std::fmin),
      GRAPHC_BINARY("fmax", std::fmax),
      GRAPHC_BINARY("fmod", std::fmod),
      GRAPHC_BINARY("copysign", std::copysign),
      {"fma", "d:ddd", ternary_operation<D, [](D a, D b, D c) { return std::fma(a, b, c); }>},
      {"fmaf", "f:fff", ternary_operation<F, [](F a, F b, F c) { return std::fma(a, b, c); }>},
      {"__fma_rn", "d:ddd", ternary_operation<D, [](D a, D b, D c) { return std::fma(a, b, c); }>},
      {"__fmaf_rn", "f:fff", ternary_operation<F, [](F a, F b, F c) { return std::fma(a, b, c); }>},
      {"isnan", "b:f", unary_operation<I, F, [](F a) { return std::isnan(a); }>},
      {"isnan", "b:d", unary_operation<I, D, [](D a) { return std::isnan(a); }>},
      {"isinf", "b:f", unary_operation<I, F, [](F a) { return std::isinf(a); }>},
      {"isinf", "b:d", unary_operation<I, D, [](D a) { return std::isinf(a); }>},
      {"__fadd_rn", "f:ff", binary_operation<F, F, F, [](F a, F b) { return a + b; }>},
      {"__fsub_rn", "f:ff", binary_operation<F, F, F, [](F a, F b) { return a - b; }>},
      {"__fmul_rn", "f:ff", binary_operation<F, F, F, [](F a, F b) { return a * b; }>},
      {"__fdiv_rn", "f:ff", binary_operation<F, F, F, [](F a, F b) { return a / b; }>},
      {"__dadd_rn", "d:dd", binary_operation<D, D, D, [](D a, D b) { return a + b; }>},
      {"__dsub_rn", "d:dd", binary_operation<D, D, D, [](D a, D b) { return a - b; }>},
      {"__dmul_rn", "d:dd", binary_operation<D, D, D, [](D a, D b) { return a * b; }>},
      {"__ddiv_rn", "d:dd", binary_operation<D, D, D, [](D a, D b) { return a / b; }>},
  };
  return table;
}

std::span<const Builtin> arithmetic_builtins() {
  static const Builtin table[] = {
      {"min", "i:ii", binary_operation<I, I, I, smaller<I>>},
      {"min", "u:uu", binary_operation<U, U, U, smaller<U>>},
      {"min", "l:ll", binary_operation<L, L, L, smaller<L>>},
      {"min", "U:UU", binary_operation<W, W, W, smaller<W>>},
      {"min", "f:ff", binary_operation<F, F, F, smaller<F>>},
      {"min", "d:dd", binary_operation<D, D, D, smaller<D>>},
      {"max", "i:ii", binary_operation<I, I, I, larger<I>>},
      {"max", "u:uu", binary_operation<U, U, U, larger<U>>},
      {"max", "l:ll", binary_operation<L, L, L, larger<L>>},
      {"max", "U:UU", binary_operation<W, W, W, larger<W>>},
      {"max", "f:ff", binary_operation<F, F, F, larger<F>>},
      {"max", "d:dd", binary_operation<D, D, D, larger<D>>},
      {"abs", "i:i", unary_operation<I, I, absolute<I>>},
      {"abs", "l:l", unary_operation<L, L, absolute<L>>},
      {"abs", "f:f", unary_operation<F, F, absolute<F>>},
      {"abs", "d:d", unary_operation<D, D, absolute<D>>},
      {"__float_as_uint", "u:f", same_bits<U, F>},
      {"__float_as_int", "i:f", same_bits<I, F>},
      {"__uint_as_float", "f:u", same_bits<F, U>},
      {"__int_as_float", "f:i", same_bits<F, I>},
      {"__double_as_longlong", "l:d", same_bits<L, D>},
      {"__longlong_as_double", "d:l", same_bits<D, L>},
      {"__umulhi", "u:uu",
       binary_operation<U, U, U, [](U a, U b) { return U(W(a) * b / (W(1) << 32)); }>},
      {"__mulhi", "i:ii",
       binary_operation<I, I, I, [](I a, I b) { return I(uint64_t(L(a) * b) / (W(1) << 32)); }>},
      {"__umul64hi", "U:UU",
       binary_operation<W, W, W,
                        [](W a, W b) {
                          const W low = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF) / (W(1) << 32);
                          const W left = (a / (W(1) << 32)) * (b & 0xFFFFFFFF) + low;
                          const W right =
                              (a & 0xFFFFFFFF) * (b / (W(1) << 32)) + (left & 0xFFFFFFFF);
                          return (a / (W(1) << 32)) * (b / (W(1) << 32)) + left / (W(1) << 32) +
                                 right / (W(1) << 32);
                        }>},
      {"__clz", "i:i", unary_operation<I, I, [](I a) { return std::countl_zero(U(a)); }>},
      {"__popc", "i:u", unary_operation<I, U, [](U a) { return std::popcount(a); }>},
      {"__ffs", "i:i",
       unary_operation<I, I, [](I a) { return a == 0 ? 0 : std::countr_zero(U(a)) + 1; }>},
  };
  return table;
}

#undef GRAPHC_UNARY
#undef GRAPHC_BINARY

}  // namespace graphc::core::cuda_emulator

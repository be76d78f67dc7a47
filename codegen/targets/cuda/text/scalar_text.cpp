// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/scalar_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "codegen/targets/cuda/text/text.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

struct Helper {
  std::string_view name;  ///< as in a call, with its parenthesis
  std::string_view text;
};

// Helpers that others call come after them: the text is assembled from the last to the first.
constexpr Helper kHelpers[] = {
    {"bf16_bits(",
     R"(// The nearest bf16, ties to even; NaN stays NaN.
__device__ __forceinline__ unsigned short bf16_bits(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return (unsigned short)((bits >> 16) | 64u);
  return (unsigned short)((bits + 32767u + ((bits >> 16) & 1u)) >> 16);
}
)"},
    {"renewed(",
     R"(// The same number. The compiler takes it for another one each time, so that what depends
// on it is computed where it is used, and takes no registers from step to step.
__device__ __forceinline__ int renewed(int x) {
  unsigned same;
  asm volatile("mov.u32 %0, %1;" : "=r"(same) : "r"((unsigned)x));
  return (int)same;
}
)"},
    {"bf16_value(",
     R"(__device__ __forceinline__ float bf16_value(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}
)"},
    {"tf32_value(",
     R"(// Its low bits are not specified.
__device__ __forceinline__ float tf32_value(unsigned bits) {
  return __uint_as_float(bits & 0xffffe000u);
}
)"},
    {"tf32_bits(",
     R"(__device__ __forceinline__ unsigned tf32_bits(float x) {
  unsigned bits;
  asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
)"},
    {"bf16_pair(",
     R"(__device__ __forceinline__ unsigned bf16_pair(float first, float second) {
  unsigned bits;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}
)"},
    {"load_pair(",
     R"(// Two numbers side by side by one access.
__device__ __forceinline__ void load_pair(float* pair, const float* at) {
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair[0]), "=f"(pair[1]) : "l"(at) : "memory");
}
)"},
    {"store_pair(",
     R"(__device__ __forceinline__ void store_pair(float* at, float first, float second) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};"
               : : "l"(at), "f"(first), "f"(second) : "memory");
}
)"},
    {"load_bf16_pair(",
     R"(__device__ __forceinline__ unsigned load_bf16_pair(const unsigned short* at) {
  unsigned pair;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(pair) : "l"(at) : "memory");
  return pair;
}
)"},
    {"bf16_of_pair(",
     R"(__device__ __forceinline__ float bf16_of_pair(unsigned pair, int number) {
  return __uint_as_float(number == 0 ? pair << 16 : pair & 4294901760u);
}
)"},
    {"store_bf16_pair(",
     R"(__device__ __forceinline__ void store_bf16_pair(unsigned short* at, unsigned bits) {
  asm volatile("st.global.u32 [%0], %1;" : : "l"(at), "r"(bits) : "memory");
}
)"},
    {"f16_pair(",
     R"(__device__ __forceinline__ unsigned f16_pair(float first, float second) {
  unsigned bits;
  asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}
)"},
    {"larger(",
     R"(// NaN where one of them is.
__device__ __forceinline__ float larger(float x, float y) {
  return x != x || y != y ? x + y : (x < y ? y : x);
}
)"},
    {"smaller(",
     R"(__device__ __forceinline__ float smaller(float x, float y) {
  return x != x || y != y ? x + y : (y < x ? y : x);
}
)"},
    {"larger_double(",
     R"(// NaN where one of them is.
__device__ __forceinline__ double larger_double(double x, double y) {
  return x != x || y != y ? x + y : (x < y ? y : x);
}
)"},
    {"smaller_double(",
     R"(__device__ __forceinline__ double smaller_double(double x, double y) {
  return x != x || y != y ? x + y : (y < x ? y : x);
}
)"},
    {"whole(",
     R"(// Toward zero; what no long long holds becomes the nearest that it does, NaN becomes 0.
__device__ __forceinline__ long long whole(double x) {
  if (x != x) return 0ll;
  if (x >= 9223372036854775808.0) return 9223372036854775807ll;
  if (x <= -9223372036854775808.0) return -9223372036854775807ll - 1ll;
  return (long long)x;
}
)"},
    {"sigmoid(",
     R"(// n / d for n from 0 to 1 and d from 1 to 2, without the branch that a quotient has for
// other numbers: a thread computes several elements beside each other then.
__device__ __forceinline__ float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  const float n = x < 0.0f ? e : 1.0f, d = 1.0f + e;
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  r = fmaf(fmaf(-d, r, 1.0f), r, r);
  const float q = n * r;
  return fmaf(fmaf(-d, q, n), r, q);
}
)"},
    {"sigmoid_double(",
     R"(__device__ __forceinline__ double sigmoid_double(double x) {
  const double e = exp(-fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
)"},
};

/// The type in which integers of a width wrap around.
std::string_view wrapping_type(DType dtype) {
  return dtype == DType::i64 ? "unsigned long long" : "unsigned";
}

int bits_of(DType dtype) { return int(size_of(dtype)) * 8; }

bool is_whole(DType dtype) { return !is_floating(dtype) && dtype != DType::boolean; }

/// A CUDA function, given its name for double; the name for float has a suffix.
std::string function(std::string_view name, DType dtype, std::string_view arguments) {
  return fmt::format("{}{}({})", name, dtype == DType::f64 ? "" : "f", arguments);
}
/// A helper, given its name for float; the one for double has a suffix.
std::string helper(std::string_view name, DType dtype, std::string_view arguments) {
  return fmt::format("{}{}({})", name, dtype == DType::f64 ? "_double" : "", arguments);
}

std::string cast_text(DType from, DType to, const std::string& x) {
  if (from == to) return x;
  if (to == DType::boolean) return fmt::format("({} != {})", x, literal_text(from, 0));
  if (is_floating(from) && is_whole(to)) {
    const std::string wide = fmt::format("whole({})", x);
    return to == DType::i64 ? wide : fmt::format("({})({})", register_type_text(to), wide);
  }
  return fmt::format("({}){}", register_type_text(to), x);
}

std::string unary_text(ScalarOp op, DType dtype, const std::string& x) {
  const bool floating = is_floating(dtype);
  switch (op) {
    case ScalarOp::neg:
      return floating ? fmt::format("(-{})", x)
                      : fmt::format("({})(0 - ({}){})", register_type_text(dtype),
                                    wrapping_type(dtype), x);
    case ScalarOp::abs:
      if (floating) return function("fabs", dtype, x);
      if (dtype != DType::i32 && dtype != DType::i64) return x;
      return fmt::format("({} < 0 ? ({})(0 - ({}){}) : {})", x, register_type_text(dtype),
                         wrapping_type(dtype), x, x);
    case ScalarOp::logical_not:
      return fmt::format("(!{})", x);
    case ScalarOp::sigmoid:
      return helper("sigmoid", dtype, x);
    case ScalarOp::exp:
    case ScalarOp::expm1:
    case ScalarOp::log:
    case ScalarOp::log1p:
    case ScalarOp::sqrt:
    case ScalarOp::tanh:
    case ScalarOp::sin:
    case ScalarOp::cos:
    case ScalarOp::floor:
      return function(name_of(op), dtype, x);
    default:
      return {};
  }
}

/// For two integers, which wrap around.
std::string whole_text(ScalarOp op, DType dtype, const std::string& x, const std::string& y) {
  const std::string_view type = register_type_text(dtype), wide = wrapping_type(dtype);
  const auto wrapped = [&](std::string_view sign) {
    return fmt::format("({})(({}){} {} ({}){})", type, wide, x, sign, wide, y);
  };
  switch (op) {
    case ScalarOp::add:
      return wrapped("+");
    case ScalarOp::sub:
      return wrapped("-");
    case ScalarOp::mul:
      return wrapped("*");
    case ScalarOp::bit_and:
    case ScalarOp::logical_and:
      return wrapped("&");
    case ScalarOp::bit_or:
    case ScalarOp::logical_or:
      return wrapped("|");
    case ScalarOp::bit_xor:
      return wrapped("^");
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
      // Shifts right insert zeros, not the sign, and a shift by the width or more gives zero.
      return fmt::format("(({}){} < {} ? ({})(({}){} {} ({}){}) : ({})0)", wide, y, bits_of(dtype),
                         type, wide, x, op == ScalarOp::shift_left ? "<<" : ">>", wide, y, type);
    case ScalarOp::multiply_wide:
      return fmt::format("(long long)((unsigned long long)(unsigned){} * (unsigned){})", x, y);
    case ScalarOp::maximum:
      return fmt::format("({} < {} ? {} : {})", x, y, y, x);
    case ScalarOp::minimum:
      return fmt::format("({} < {} ? {} : {})", y, x, y, x);
    default:
      return {};
  }
}

std::string truth_text(ScalarOp op, const std::string& x, const std::string& y) {
  switch (op) {
    case ScalarOp::logical_and:
    case ScalarOp::bit_and:
    case ScalarOp::minimum:
    case ScalarOp::mul:
      return fmt::format("({} && {})", x, y);
    case ScalarOp::logical_or:
    case ScalarOp::bit_or:
    case ScalarOp::maximum:
    case ScalarOp::add:
      return fmt::format("({} || {})", x, y);
    case ScalarOp::bit_xor:
      return fmt::format("({} != {})", x, y);
    default:
      return {};
  }
}

std::string floating_text(ScalarOp op, DType dtype, const std::string& x, const std::string& y) {
  const std::string both = fmt::format("{}, {}", x, y);
  switch (op) {
    case ScalarOp::add:
      return fmt::format("({} + {})", x, y);
    case ScalarOp::sub:
      return fmt::format("({} - {})", x, y);
    case ScalarOp::mul:
      return fmt::format("({} * {})", x, y);
    case ScalarOp::div:
      return fmt::format("({} / {})", x, y);
    case ScalarOp::pow:
      return function("pow", dtype, both);
    case ScalarOp::maximum:
      return helper("larger", dtype, both);
    case ScalarOp::minimum:
      return helper("smaller", dtype, both);
    default:
      return {};
  }
}

std::string_view comparison_sign(ScalarOp op) {
  return op == ScalarOp::equal ? "==" : op == ScalarOp::less ? "<" : "<=";
}

}  // namespace

std::string scalar_text(ScalarOp op, DType dtype, DType operand_dtype,
                        std::span<const std::string> x) {
  std::string text;
  switch (op) {
    case ScalarOp::select:
      return fmt::format("({} ? {} : {})", x[0], x[1], x[2]);
    case ScalarOp::cast:
      text = cast_text(operand_dtype, dtype, x[0]);
      break;
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
      return fmt::format("({} {} {})", x[0], comparison_sign(op), x[1]);
    default:
      if (x.size() == 1) {
        text = unary_text(op, dtype, x[0]);
      } else if (is_floating(dtype)) {
        text = floating_text(op, dtype, x[0], x[1]);
      } else {
        text = dtype == DType::boolean ? truth_text(op, x[0], x[1])
                                       : whole_text(op, dtype, x[0], x[1]);
      }
  }
  GRAPHC_CHECK(!text.empty(), "no CUDA text for {} of {}", name_of(op), name_of(dtype));
  if (dtype != DType::bf16 || (op == ScalarOp::cast && operand_dtype == dtype)) return text;
  return fmt::format("bf16_value(bf16_bits({}))", text);
}

std::string literal_text(DType dtype, double value) {
  switch (dtype) {
    case DType::boolean:
      return value != 0 ? "true" : "false";
    case DType::f32:
    case DType::bf16:
      if (std::isinf(value))
        return fmt::format("__uint_as_float({}u)", value > 0 ? 0x7f800000u : 0xff800000u);
      return value == 0 ? "0.0f" : fmt::format("{:a}f", value);
    case DType::f64:
      if (std::isinf(value))
        return fmt::format("__longlong_as_double({}ll)",
                           value > 0 ? int64_t{0x7ff} << 52 : -(int64_t{1} << 52));
      return value == 0 ? "0.0" : fmt::format("{:a}", value);
    case DType::i64:
      if (value <= -0x1p63) return "(-9223372036854775807ll - 1ll)";
      return fmt::format("{}ll", int64_t(value));
    case DType::i32:
      if (value <= -0x1p31) return "(-2147483647 - 1)";
      return fmt::format("{}", int64_t(value));
    case DType::u32:
    case DType::u8:
      return fmt::format("{}u", int64_t(value));
  }
  return {};
}

std::string loaded_text(DType dtype, const std::string& element) {
  if (dtype == DType::boolean) return fmt::format("({} != 0)", element);
  return dtype == DType::bf16 ? fmt::format("bf16_value({})", element) : element;
}

std::string stored_text(DType dtype, const std::string& value) {
  if (dtype == DType::boolean) return fmt::format("({} ? 1 : 0)", value);
  return dtype == DType::bf16 ? fmt::format("bf16_bits({})", value) : value;
}

std::string helpers_of(std::string_view text) {
  std::string helpers;
  for (const Helper& helper : kHelpers) {
    // Skips occurrences at the end of a longer name: "xlarger(" does not call "larger(".
    size_t at = text.find(helper.name);
    while (at != std::string_view::npos && at > 0 &&
           (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_')) {
      at = text.find(helper.name, at + 1);
    }
    if (at != std::string_view::npos) helpers += std::string(helper.text) + "\n";
  }
  return helpers;
}

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// The host representation of each element type, and a switch over element types.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "ir/error.h"
#include "ir/type.h"

namespace graphc::core {

/// The upper half of an f32. Conversion from float rounds to nearest, ties to even.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if (value != value) {
      // Rounding could turn a NaN into infinity: truncate it and make it quiet.
      bits = uint16_t(word >> 16 | 0x0040);
    } else {
      bits = uint16_t((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
  }
  static BFloat16 from_bits(uint16_t bits) {
    BFloat16 result;
    result.bits = bits;
    return result;
  }
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

namespace detail {
template <DType>
struct StoredAs;
template <>
struct StoredAs<DType::f32> : std::type_identity<float> {};
template <>
struct StoredAs<DType::bf16> : std::type_identity<BFloat16> {};
template <>
struct StoredAs<DType::f64> : std::type_identity<double> {};
template <>
struct StoredAs<DType::i32> : std::type_identity<int32_t> {};
template <>
struct StoredAs<DType::i64> : std::type_identity<int64_t> {};
template <>
struct StoredAs<DType::u32> : std::type_identity<uint32_t> {};
template <>
struct StoredAs<DType::u8> : std::type_identity<uint8_t> {};
template <>
struct StoredAs<DType::boolean> : std::type_identity<uint8_t> {};
}  // namespace detail

/// The host type of one stored element. A bool is a byte that holds 0 or 1.
template <DType dtype>
using Stored = typename detail::StoredAs<dtype>::type;

/// C++ types with which arrays can be made.
template <typename T>
concept Number = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                 std::is_same_v<T, BFloat16> || std::is_same_v<T, uint8_t> ||
                 (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

/// The element type of `T`; i64 for unsigned 64-bit integers as well.
template <Number T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::u8;
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? DType::i32 : DType::u32;
  return DType::i64;
}

/// Whether elements of `dtype` are stored as `T`.
template <typename T>
constexpr bool is_stored_as(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::is_same_v<T, float>;
    case DType::bf16:
      return std::is_same_v<T, BFloat16>;
    case DType::f64:
      return std::is_same_v<T, double>;
    case DType::i32:
      return std::is_same_v<T, int32_t>;
    case DType::i64:
      return std::is_same_v<T, int64_t>;
    case DType::u32:
      return std::is_same_v<T, uint32_t>;
    case DType::u8:
    case DType::boolean:
      return std::is_same_v<T, uint8_t>;
  }
  return false;
}

/// The C++ name of the stored type: "float", "int64_t".
std::string_view stored_name(DType dtype);

/// Whether a number can be rounded to this floating-point type: a finite number must not become
/// infinite.
template <DType dtype, typename Wide>
bool fits_finite(Wide value) {
  const auto is_finite = [](Wide number) { return number - number == 0; };
  if constexpr (dtype == DType::bf16) {
    return !is_finite(value) || is_finite(Wide(float(BFloat16(float(value)))));
  } else {
    return !is_finite(value) || is_finite(Wide(Stored<dtype>(value)));
  }
}

/// Calls `function.template operator()<dtype>()` with the element type as a constant:
/// `visit_dtype(type.dtype, [&]<DType dtype>() { ... Stored<dtype> ... })`.
template <typename Function>
decltype(auto) visit_dtype(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::f32:
      return function.template operator()<DType::f32>();
    case DType::bf16:
      return function.template operator()<DType::bf16>();
    case DType::f64:
      return function.template operator()<DType::f64>();
    case DType::i32:
      return function.template operator()<DType::i32>();
    case DType::i64:
      return function.template operator()<DType::i64>();
    case DType::u32:
      return function.template operator()<DType::u32>();
    case DType::u8:
      return function.template operator()<DType::u8>();
    case DType::boolean:
      return function.template operator()<DType::boolean>();
  }
  check_failed("dtype", __FILE__, __LINE__, fmt::format("unknown element type {}", int(dtype)));
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/cuda/emulator/lanes.h"
#include "tests/cuda/emulator/operations.h"

namespace graphc::core::cuda_emulator {
namespace {

/// Signed integers wrap: their arithmetic is done in the unsigned type.
template <typename T>
struct WrappingOf {
  using type = T;
};
template <>
struct WrappingOf<int32_t> {
  using type = uint32_t;
};
template <>
struct WrappingOf<int64_t> {
  using type = uint64_t;
};
template <typename T>
using Wrapping = typename WrappingOf<T>::type;

template <typename T>
void divide(Warp& warp, const Instruction& i, uint32_t lanes) {
  T* result = warp.slot<T>(i.result);
  const T *a = warp.slot<T>(i.a), *b = warp.slot<T>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    if (b[lane] == 0) lane_error(warp, i, lane, "division of an integer by 0");
    result[lane] = std::is_signed_v<T> && b[lane] == T(-1)
                       ? T(Wrapping<T>(0) - Wrapping<T>(a[lane]))
                       : T(a[lane] / b[lane]);
  });
}

template <typename T>
void remainder_of(Warp& warp, const Instruction& i, uint32_t lanes) {
  T* result = warp.slot<T>(i.result);
  const T *a = warp.slot<T>(i.a), *b = warp.slot<T>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    if (b[lane] == 0) lane_error(warp, i, lane, "remainder of an integer by 0");
    result[lane] = std::is_signed_v<T> && b[lane] == T(-1) ? T(0) : T(a[lane] % b[lane]);
  });
}

template <typename T, bool left>
void shift(Warp& warp, const Instruction& i, uint32_t lanes) {
  T* result = warp.slot<T>(i.result);
  const T* a = warp.slot<T>(i.a);
  const uint32_t* b = warp.slot<uint32_t>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    if (b[lane] >= 8 * sizeof(T))
      lane_error(
          warp, i, lane,
          fmt::format("shift by {} of a number of {} bits", int32_t(b[lane]), 8 * sizeof(T)));
    result[lane] = left ? T(Wrapping<T>(a[lane]) << b[lane]) : T(a[lane] >> b[lane]);
  });
}

template <typename T>
Operation comparison(char sign) {
  switch (sign) {
    case '<':
      return binary_operation<int32_t, T, T, [](T a, T b) { return a < b; }>;
    case '>':
      return binary_operation<int32_t, T, T, [](T a, T b) { return (a > b); }>;
    case 'L':
      return binary_operation<int32_t, T, T, [](T a, T b) { return a <= b; }>;
    case 'G':
      return binary_operation<int32_t, T, T, [](T a, T b) { return a >= b; }>;
    case 'E':
      return binary_operation<int32_t, T, T, [](T a, T b) { return a == b; }>;
    case 'N':
      return binary_operation<int32_t, T, T, [](T a, T b) { return a != b; }>;
    default:
      return nullptr;
  }
}

template <typename T>
Operation integer_operation(char sign) {
  using Wrapped = Wrapping<T>;
  switch (sign) {
    case '/':
      return divide<T>;
    case '%':
      return remainder_of<T>;
    case '&':
      return binary_operation<Wrapped, Wrapped, Wrapped,
                              [](Wrapped a, Wrapped b) { return a & b; }>;
    case '|':
      return binary_operation<Wrapped, Wrapped, Wrapped,
                              [](Wrapped a, Wrapped b) { return a | b; }>;
    case '^':
      return binary_operation<Wrapped, Wrapped, Wrapped,
                              [](Wrapped a, Wrapped b) { return a ^ b; }>;
    case 'l':
      return shift<T, true>;
    case 'r':
      return shift<T, false>;
    default:
      return comparison<T>(sign);
  }
}

template <typename T>
Operation operation(char sign) {
  using Wrapped = Wrapping<T>;
  switch (sign) {
    case '+':
      return binary_operation<Wrapped, Wrapped, Wrapped,
                              [](Wrapped a, Wrapped b) { return a + b; }>;
    case '-':
      return binary_operation<Wrapped, Wrapped, Wrapped,
                              [](Wrapped a, Wrapped b) { return a - b; }>;
    case '*':
      return binary_operation<Wrapped, Wrapped, Wrapped,
                              [](Wrapped a, Wrapped b) { return a * b; }>;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (sign == '/') return binary_operation<T, T, T, [](T a, T b) { return a / b; }>;
    return comparison<T>(sign);
  } else {
    return integer_operation<T>(sign);
  }
}

template <typename T>
Operation unary(char sign) {
  using Wrapped = Wrapping<T>;
  if (sign == '!') return unary_operation<int32_t, int32_t, [](int32_t a) { return a == 0; }>;
  if constexpr (std::is_floating_point_v<T>)
    return unary_operation<T, T, [](T a) { return -a; }>;
  else if (sign == '~')
    return unary_operation<Wrapped, Wrapped, [](Wrapped a) { return Wrapped(~a); }>;
  else
    return unary_operation<Wrapped, Wrapped, [](Wrapped a) { return Wrapped(Wrapped(0) - a); }>;
}

/// As a GPU converts: what is out of range becomes the nearest, NaN 0.
template <typename R, typename A>
R to_integer(A a) {
  if (!(a == a)) return 0;
  const A low = A(std::numeric_limits<R>::min());
  const A above = A(2) * A(uint64_t(1) << (std::numeric_limits<R>::digits - 1));
  if (a <= low) return std::numeric_limits<R>::min();
  if (a >= above) return std::numeric_limits<R>::max();
  return R(a);
}

template <typename R, typename A>
R converted(A a) {
  if constexpr (std::is_floating_point_v<A> && std::is_integral_v<R>)
    return to_integer<R>(a);
  else
    return R(a);
}

template <typename A>
Operation conversion(const Type& to) {
  if (to.pointer) return unary_operation<uint64_t, A, converted<uint64_t, A>>;
  switch (to.scalar) {
    case Scalar::boolean:
      return unary_operation<int32_t, A, [](A a) { return a != 0; }>;
    case Scalar::i8:
      return unary_operation<int32_t, A, [](A a) { return int8_t(converted<int32_t>(a)); }>;
    case Scalar::u8:
      return unary_operation<int32_t, A, [](A a) { return uint8_t(converted<int32_t>(a)); }>;
    case Scalar::u16:
      return unary_operation<int32_t, A, [](A a) { return uint16_t(converted<int32_t>(a)); }>;
    case Scalar::i32:
      return unary_operation<int32_t, A, converted<int32_t, A>>;
    case Scalar::u32:
      return unary_operation<uint32_t, A, converted<uint32_t, A>>;
    case Scalar::i64:
      return unary_operation<int64_t, A, converted<int64_t, A>>;
    case Scalar::u64:
      return unary_operation<uint64_t, A, converted<uint64_t, A>>;
    case Scalar::f32:
      return unary_operation<float, A, converted<float, A>>;
    default:
      return unary_operation<double, A, converted<double, A>>;
  }
}

template <typename T>
void select(Warp& warp, const Instruction& i, uint32_t lanes) {
  T* result = warp.slot<T>(i.result);
  const uint32_t* a = warp.slot<uint32_t>(i.a);
  const T *b = warp.slot<T>(i.b), *c = warp.slot<T>(i.c);
  each_lane(lanes, [&](uint32_t lane) {
    const T yes = b[lane], no = c[lane];
    result[lane] = a[lane] != 0 ? yes : no;
  });
}

}  // namespace

Operation binary_of(char sign, Held held) {
  switch (held) {
    case Held::i32:
      return operation<int32_t>(sign);
    case Held::u32:
      return operation<uint32_t>(sign);
    case Held::i64:
      return operation<int64_t>(sign);
    case Held::u64:
      return operation<uint64_t>(sign);
    case Held::f32:
      return operation<float>(sign);
    case Held::f64:
      return operation<double>(sign);
  }
  return nullptr;
}

Operation unary_of(char sign, Held held) {
  if (held == Held::f32) return unary<float>(sign);
  if (held == Held::f64) return unary<double>(sign);
  return is_wide(held) ? unary<int64_t>(sign) : unary<int32_t>(sign);
}

Operation conversion_of(Held from, const Type& to) {
  switch (from) {
    case Held::i32:
      return conversion<int32_t>(to);
    case Held::u32:
      return conversion<uint32_t>(to);
    case Held::i64:
      return conversion<int64_t>(to);
    case Held::u64:
      return conversion<uint64_t>(to);
    case Held::f32:
      return conversion<float>(to);
    case Held::f64:
      return conversion<double>(to);
  }
  return nullptr;
}

Operation move_of(bool wide) {
  return wide ? unary_operation<uint64_t, uint64_t, [](uint64_t a) { return a; }>
              : unary_operation<uint32_t, uint32_t, [](uint32_t a) { return a; }>;
}

Operation selection_of(bool wide) { return wide ? select<uint64_t> : select<uint32_t>; }

Operation logical_of(char sign) {
  using I = int32_t;
  return sign == '&' ? binary_operation<I, I, I, [](I a, I b) { return a & b; }>
                     : binary_operation<I, I, I, [](I a, I b) { return a | b; }>;
}

}  // namespace graphc::core::cuda_emulator

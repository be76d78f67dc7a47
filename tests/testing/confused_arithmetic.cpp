// SPDX-License-Identifier: Apache-2.0
// Elementwise moves, and sums.
#include <algorithm>

#include "ir/build.h"
#include "tests/testing/confused_moves.h"

namespace graphc::core::testing {
namespace {

using Ints = std::vector<int64_t>;

bool has_sign(DType dtype) { return dtype != DType::u8 && dtype != DType::u32; }

}  // namespace

/// A bound that accounts for wrapping, for integer types.
int64_t Confuser::held(DType dtype, int64_t bound) const {
  if (dtype == DType::boolean) return 1;
  if (dtype == DType::u8) return 255;
  if (!is_floating(dtype) && (bound > kBoundLimit || dtype == DType::u32)) return kWild;
  return bound;
}

Sized Confuser::clipped(const Sized& x, int64_t bound) {
  if (x.dtype() == DType::boolean || (!is_floating(x.dtype()) && bound >= kWild)) return x;
  if (options_.real && x.dtype() == DType::f32) return {tanh(x.value), 1};
  if (!has_sign(x.dtype())) return {minimum(x.value, bound), bound};
  if (chance(20)) return {clip(x.value, double(-bound), double(bound)), bound};
  return {minimum(maximum(x.value, -bound), bound), bound};
}

Sized Confuser::tamed(const Sized& x) {
  if (x.bound <= 1000 || !is_floating(x.dtype())) return x;
  if (x.dtype() == DType::f32 && !options_.real && chance(30)) return {remainder(x.value, 7), 7};
  return clipped(x, 9);
}

Sized Confuser::converted(const Sized& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (dtype == DType::boolean) return {cast(x.value, dtype), 1};
  if (!is_floating(x.dtype())) {
    const Sized from = is_floating(dtype) && x.bound > kBoundLimit ? clipped(x, 9) : x;
    return {cast(from.value, dtype), held(dtype, from.bound)};
  }
  // A float outside the range of an integer type, or a negative one for an unsigned type, may
  // convert to anything.
  const Sized whole{cast(x.value, DType::i32), x.bound};
  return {cast(whole.value, dtype), held(dtype, x.bound)};
}

Sized Confuser::unary(const Sized& x) {
  if (x.dtype() == DType::boolean)
    return chance(50) ? Sized{logical_not(x.value), 1} : converted(x, DType::f32);
  const bool real = x.dtype() == DType::f32;
  const auto grown = [&](Value value, int64_t bound) {
    return Sized{value, held(x.dtype(), bound)};
  };
  if (real && options_.real) {
    switch (draw(0, 7)) {
      case 0:
        return {tanh(x.value), 1};
      case 1:
        return {sigmoid(x.value), 1};
      case 2:
        return {exp(tanh(x.value)), 3};
      case 3:
        return {silu(x.value), x.bound};
      case 4:
        return {x.value * 0.3, x.bound};
      case 5:
        return {square(x.value), x.bound * x.bound};
      case 6:
        return {relu(x.value), x.bound};
      default:
        return {x.value * 1e-5, x.bound};
    }
  }
  switch (draw(0, 8)) {
    case 0:
      return grown(neg(x.value), x.bound);
    case 1:
      return grown(abs(x.value), x.bound);
    case 2:
      return {maximum(x.value, 0), x.bound};
    case 3:
      return real ? Sized{floor(x.value * 0.5), x.bound} : grown(x.value * 2, x.bound * 2);
    case 4:
      return real ? Sized{sign(x.value), 1}
                  : Sized{minimum(x.value, 3), std::max<int64_t>(x.bound, 3)};
    case 5:
      return grown(square(x.value), x.bound * x.bound);
    case 6:
      return grown(x.value * 3 - 1, x.bound * 3 + 1);
    case 7:
      return real ? Sized{relu(x.value), x.bound} : grown(x.value + x.value, x.bound * 2);
    default:
      return converted(x, real ? one_of<DType>({DType::i32, DType::i32, DType::i64, DType::u8,
                                                DType::u32, DType::boolean})
                               : one_of<DType>({DType::f32, DType::f32, DType::u8, DType::i64,
                                                DType::i32, DType::u32}));
  }
}

Value Confuser::compared(Value x, Value y) {
  switch (draw(0, 3)) {
    case 0:
      return less(x, y);
    case 1:
      return equal(x, y);
    case 2:
      return greater_equal(y, x);
    default:
      return logical_or(less(y, x), logical_not(not_equal(x, y)));
  }
}

/// Both values must have one dtype and broadcast.
Sized Confuser::combined(const Sized& x, const Sized& y) {
  if (x.dtype() == DType::boolean) {
    return {chance(50) ? logical_and(x.value, y.value) : logical_xor(y.value, x.value), 1};
  }
  const int64_t larger = std::max(x.bound, y.bound);
  const auto grown = [&](Value value, int64_t bound) {
    return Sized{value, held(x.dtype(), bound)};
  };
  switch (draw(0, 8)) {
    case 0:
    case 1:
      return grown(x.value + y.value, x.bound + y.bound);
    case 2:
    case 3:
      return grown(y.value - x.value, x.bound + y.bound);
    case 4:
      return grown(x.value * y.value, x.bound * y.bound);
    case 5:
      return {maximum(x.value, y.value), larger};
    case 6:
      return {minimum(y.value, x.value), larger};
    case 7:
      // In both orders: the same number, but different derivatives at ties.
      return grown(maximum(x.value, y.value) * 2 - maximum(y.value, x.value), 3 * larger);
    default:
      return {select(compared(x.value, y.value), x.value, y.value), larger};
  }
}

Sized Confuser::binary(const Scope& scope, const Sized& x) {
  const Sized a = tamed(x);
  Sized y;
  if (const int kind = draw(0, 9); kind <= 5) {
    y = pick(scope, [&](const Sized& other) { return other.type() == a.type(); });
  } else if (kind <= 7 && a.rank() > 0) {
    y = moved(a);
  }
  if (!y.value) {
    y = pick(scope, [&](const Sized& other) {
      return broadcast(other.shape(), a.shape()) && other.rank() <= 5;
    });
  }
  if (!y.value) return unary(a);
  if (options_.real && is_floating(y.dtype()) && !is_floating(a.dtype()))
    return combined(y, converted(a, y.dtype()));
  return combined(a, tamed(converted(tamed(y), a.dtype())));
}

Sized Confuser::reduced(const Sized& from) {
  const Sized x = from.dtype() == DType::boolean ? converted(from, DType::i32) : from;
  Ints axes;
  int64_t count = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (chance(50)) axes.push_back(axis);
  }
  if (axes.empty() && x.rank() > 0) axes.push_back(axis_of(x));
  for (int64_t axis : axes) count *= x.shape()[int(axis)];
  const bool keep = chance(50);
  const bool least = !options_.gradient && count > 0 && !axes.empty();
  switch (draw(0, 5)) {
    case 0:
      if (least) return {max(x.value, axes, keep), x.bound};
      break;
    case 1:
      if (least) return {min(x.value, axes, keep), x.bound};
      break;
    case 2:
      if (least && !options_.real) return {argmax(x.value, int(axes[0])), x.shape()[int(axes[0])]};
      break;
    case 3:
      if (!axes.empty()) {
        const int axis = int(axes[0]);
        return {cumsum(clipped(x, 2).value, axis, chance(50)), 2 * x.shape()[axis] + 2};
      }
      break;
    default:
      break;
  }
  count = std::max<int64_t>(count, 1);
  const bool large = is_floating(x.dtype()) && x.bound * count > kBoundLimit;
  const Sized small = large ? clipped(x, 1) : x;
  return {sum(small.value, axes, keep), held(x.dtype(), small.bound * count)};
}

Sized Confuser::long_iota(const Scope& scope) {
  const DType dtype = one_of<DType>({DType::u8, DType::u8, DType::i32, DType::f32});
  const int64_t offset = draw(250, dtype == DType::u8 ? 256 : 300);
  Sized x{iota(scope.graph, {offset}, 0, dtype), held(dtype, offset)};
  if (chance(30)) x = {x.value * 3, held(dtype, 3 * x.bound)};
  x = converted(x, one_of<DType>({DType::i32, DType::f32, DType::i64, DType::u8}));
  return chance(50) ? x : Sized{slice(x.value, 0, offset - draw(1, 8), offset), x.bound};
}

Value Confuser::beyond_range(const Sized& x) {
  // No pair of them turns an integer into a denormal, which targets may flush to 0.
  const auto power = [&] { return one_of<double>({0x1p100, 0x1p100, 0x1p-100, 0x1p60, 0x1p-60}); };
  if (chance(30)) return (x.value / power()) / power();
  return (x.value * power()) * power();
}

}  // namespace graphc::core::testing

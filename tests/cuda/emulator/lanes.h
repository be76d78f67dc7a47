// SPDX-License-Identifier: Apache-2.0
// How an operation goes over its lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "tests/cuda/emulator/grid.h"

// Lanes of a loop do not depend on each other: what one reads in a register, none writes in
// another.
#if defined(__clang__)
#define GRAPHC_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define GRAPHC_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

namespace graphc::core::cuda_emulator {

/// The first of some lanes.
inline uint32_t first_of(uint32_t lanes) { return uint32_t(std::countr_zero(lanes)); }

/// f of each lane; all 32 are a loop that the compiler makes vectors of. Not for what may throw
/// midway, or has an order.
template <typename F>
inline void each_lane(uint32_t lanes, F f) {
  if (lanes == ~0u) {
    GRAPHC_INDEPENDENT_LANES
    for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) f(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) f(first_of(lanes));
  }
}

/// f of each lane, in order.
template <typename F>
inline void each_lane_in_order(uint32_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(first_of(lanes));
}

/// result = F(a), of types as registers hold them.
template <typename R, typename A, auto F>
void unary_operation(Warp& warp, const Instruction& i, uint32_t lanes) {
  R* result = warp.slot<R>(i.result);
  const A* a = warp.slot<A>(i.a);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = R(F(a[lane])); });
}

template <typename R, typename A, typename B, auto F>
void binary_operation(Warp& warp, const Instruction& i, uint32_t lanes) {
  R* result = warp.slot<R>(i.result);
  const A* a = warp.slot<A>(i.a);
  const B* b = warp.slot<B>(i.b);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = R(F(a[lane], b[lane])); });
}

template <typename T, auto F>
void ternary_operation(Warp& warp, const Instruction& i, uint32_t lanes) {
  T* result = warp.slot<T>(i.result);
  const T *a = warp.slot<T>(i.a), *b = warp.slot<T>(i.b), *c = warp.slot<T>(i.c);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = F(a[lane], b[lane], c[lane]); });
}

}  // namespace graphc::core::cuda_emulator

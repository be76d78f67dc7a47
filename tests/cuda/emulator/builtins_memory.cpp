// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/builtins.h"
#include "tests/cuda/emulator/lanes.h"
#include "tests/cuda/emulator/operations.h"

namespace graphc::core::cuda_emulator {
namespace {

void note_change(Warp& warp, uint64_t address) {
  ++warp.grid->version;
  warp.grid->changed.push_back(address);
}

Found find_atomic(Warp& warp, const Instruction& i, uint32_t lane, uint64_t address, uint32_t bytes,
                  Grid::Atomic what) {
  const Found found = find_bytes(warp, i, lane, address, bytes, "atomic");
  if (found.where->kind == MemoryKind::local)
    lane_error(warp, i, lane, "an atomic in local memory, which no other thread sees");
  warp.grid->on_atomic(warp, lane, *found.where, found.offset, bytes, place_of(warp, i), what);
  return found;
}

/// result = old value at a, which becomes F(old, b, c).
template <typename T, auto F>
void atomic(Warp& warp, const Instruction& i, uint32_t lanes) {
  T* result = warp.slot<T>(i.result);
  const uint64_t* address = warp.slot<uint64_t>(i.a);
  const T *b = warp.slot<T>(i.b), *c = warp.slot<T>(i.c);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const Found found = find_atomic(warp, i, lane, address[lane], sizeof(T), Grid::Atomic::update);
    if (!is_written<T>(found)) refuse_unwritten(warp, i, lane, found, sizeof(T));
    T old;
    std::memcpy(&old, found.bytes(), sizeof(T));
    const T value = F(old, b[lane], c[lane]);
    std::memcpy(found.bytes(), &value, sizeof(T));
    warp.grid->relaxed_update(warp, lane, address[lane]);
    if (value != old)
      note_change(warp, address[lane]);
    else
      warp.unchanged |= 1u << lane;
    result[lane] = old;
  });
}

void load_acquire(Warp& warp, const Instruction& i, uint32_t lanes) {
  uint32_t* result = warp.slot<uint32_t>(i.result);
  const uint64_t* address = warp.slot<uint64_t>(i.a);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const Found found = find_atomic(warp, i, lane, address[lane], 4, Grid::Atomic::load);
    if (!is_written<uint32_t>(found)) refuse_unwritten(warp, i, lane, found, 4);
    std::memcpy(&result[lane], found.bytes(), 4);
    warp.grid->acquire(warp, lane, address[lane]);
  });
  warp.unchanged |= lanes;
}

void store_release(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.a);
  const uint32_t* value = warp.slot<uint32_t>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const Found found = find_atomic(warp, i, lane, address[lane], 4, Grid::Atomic::store);
    mark_written<uint32_t>(found);
    std::memcpy(found.bytes(), &value[lane], 4);
    warp.grid->release(warp, lane, address[lane]);
    note_change(warp, address[lane]);
  });
}

void fence(Warp& warp, const Instruction&, uint32_t lanes) {
  each_lane_in_order(lanes, [&](uint32_t lane) { warp.grid->fence(warp, lane); });
}

void nothing(Warp&, const Instruction&, uint32_t) {}

template <typename T>
constexpr auto sum =
    [](T old, T b, T) { return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b)); };
template <typename T>
constexpr auto largest = [](T old, T b, T) { return std::max(old, b); };
template <typename T>
constexpr auto smallest = [](T old, T b, T) { return std::min(old, b); };
template <typename T>
constexpr auto exchanged = [](T, T b, T) { return b; };
template <typename T>
constexpr auto united = [](T old, T b, T) { return T(old | b); };
template <typename T>
constexpr auto swapped_if = [](T old, T b, T c) { return old == b ? c : old; };

}  // namespace

#define GRAPHC_ATOMICS(name, function, control, arguments_i, arguments_u, arguments_w) \
  {name, arguments_i, atomic<int32_t, function<int32_t>>, control, 0},                 \
      {name, arguments_u, atomic<uint32_t, function<uint32_t>>, control, 0},           \
      {name, arguments_w, atomic<uint64_t, function<uint64_t>>, control, 0}
#define GRAPHC_LOADS(name)                                                                \
  {name, "i:Ki", narrow, Control::plain, 0}, {name, "u:Ku", narrow, Control::plain, 0},   \
      {name, "f:Kf", narrow, Control::plain, 0}, {name, "l:Kl", wide, Control::plain, 0}, \
      {name, "U:KU", wide, Control::plain, 0}, {name, "d:Kd", wide, Control::plain, 0}

std::span<const Builtin> memory_builtins() {
  const Operation narrow = load_of(type_of(Scalar::u32)), wide = load_of(type_of(Scalar::u64));
  const Operation put = store_of(type_of(Scalar::u32)), put_wide = store_of(type_of(Scalar::u64));
  static const Builtin table[] = {
      GRAPHC_ATOMICS("atomicAdd", sum, Control::poll, "i:Pii", "u:Puu", "U:PUU"),
      GRAPHC_ATOMICS("atomicMax", largest, Control::plain, "i:Pii", "u:Puu", "U:PUU"),
      GRAPHC_ATOMICS("atomicMin", smallest, Control::plain, "i:Pii", "u:Puu", "U:PUU"),
      GRAPHC_ATOMICS("atomicExch", exchanged, Control::poll, "i:Pii", "u:Puu", "U:PUU"),
      GRAPHC_ATOMICS("atomicOr", united, Control::poll, "i:Pii", "u:Puu", "U:PUU"),
      GRAPHC_ATOMICS("atomicCAS", swapped_if, Control::poll, "i:Piii", "u:Puuu", "U:PUUU"),
      GRAPHC_LOADS("__ldg"),
      GRAPHC_LOADS("__ldcg"),
      {"__stcg", "v:Pii", put, Control::plain, 0},
      {"__stcg", "v:Puu", put, Control::plain, 0},
      {"__stcg", "v:Pff", put, Control::plain, 0},
      {"__stcg", "v:Pll", put_wide, Control::plain, 0},
      {"__stcg", "v:PUU", put_wide, Control::plain, 0},
      {"__stcg", "v:Pdd", put_wide, Control::plain, 0},
      {"__threadfence", "v:", fence},
      {"__threadfence_block", "v:", fence},
      {"load_acquire", "u:Ku", load_acquire, Control::poll},
      {"store_release", "v:Puu", store_release},
      {"grid_wait_hint", "v:", nothing},
  };
  return table;
}

#undef GRAPHC_ATOMICS
#undef GRAPHC_LOADS

}  // namespace graphc::core::cuda_emulator

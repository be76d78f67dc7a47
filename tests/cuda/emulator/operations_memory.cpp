// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/lanes.h"
#include "tests/cuda/emulator/operations.h"

namespace graphc::core::cuda_emulator {
namespace {

/// In memory a T, in a register an R.
template <typename R, typename T>
void load(Warp& warp, const Instruction& i, uint32_t lanes) {
  R* result = warp.slot<R>(i.result);
  const uint64_t* address = warp.slot<uint64_t>(i.a);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    result[lane] = R(read_value<T>(warp, i, lane, address[lane] + uint64_t(i.immediate)));
  });
}

template <typename R, typename T>
void store(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.a);
  const R* value = warp.slot<R>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    write_value<T>(warp, i, lane, address[lane] + uint64_t(i.immediate), T(value[lane]));
  });
}

/// Load if `loads`, else store.
template <bool loads, typename R, typename T>
constexpr Operation transfer() {
  if constexpr (loads)
    return load<R, T>;
  else
    return store<R, T>;
}

template <bool loads>
Operation transfer_of(const Type& type) {
  if (type.pointer) return transfer<loads, uint64_t, uint64_t>();
  switch (type.scalar) {
    case Scalar::i8:
      return transfer<loads, int32_t, int8_t>();
    case Scalar::boolean:
    case Scalar::u8:
      return transfer<loads, int32_t, uint8_t>();
    case Scalar::u16:
      return transfer<loads, int32_t, uint16_t>();
    case Scalar::i64:
    case Scalar::u64:
    case Scalar::f64:
      return transfer<loads, uint64_t, uint64_t>();
    default:
      return transfer<loads, uint32_t, uint32_t>();
  }
}

template <typename B>
void pointer_sum(Warp& warp, const Instruction& i, uint32_t lanes) {
  uint64_t* result = warp.slot<uint64_t>(i.result);
  const uint64_t* a = warp.slot<uint64_t>(i.a);
  const B* b = warp.slot<B>(i.b);
  const uint64_t bytes = uint64_t(i.immediate);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = a[lane] + uint64_t(b[lane]) * bytes; });
}

template <typename B>
void element(Warp& warp, const Instruction& i, uint32_t lanes) {
  uint64_t* result = warp.slot<uint64_t>(i.result);
  const uint64_t* a = warp.slot<uint64_t>(i.a);
  const B* b = warp.slot<B>(i.b);
  const uint64_t bytes = uint64_t(i.immediate) & 0xFFFFFFFF;
  const uint64_t extent = uint64_t(i.immediate) >> 32;
  uint32_t outside = 0;
  each_lane(lanes, [&](uint32_t lane) {
    const uint64_t index = uint64_t(b[lane]);
    outside |= index >= extent ? 1 : 0;
    result[lane] = a[lane] + index * bytes;
  });
  if (outside == 0) return;
  each_lane_in_order(lanes, [&](uint32_t lane) {
    if (uint64_t(b[lane]) >= extent)
      lane_error(warp, i, lane,
                 fmt::format("index {} of '{}', which has {} there", b[lane],
                             warp.grid->program.names[i.c], extent));
  });
}

void difference(Warp& warp, const Instruction& i, uint32_t lanes) {
  int64_t* result = warp.slot<int64_t>(i.result);
  const int64_t *a = warp.slot<int64_t>(i.a), *b = warp.slot<int64_t>(i.b);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = (a[lane] - b[lane]) / i.immediate; });
}

void offset_by(Warp& warp, const Instruction& i, uint32_t lanes) {
  uint64_t* result = warp.slot<uint64_t>(i.result);
  const uint64_t* a = warp.slot<uint64_t>(i.a);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = a[lane] + uint64_t(i.immediate); });
}

template <bool zero>
void fill_local(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.a);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const uint64_t at = address[lane] + uint64_t(i.immediate);
    std::memset(warp.local.valid.get() + (at - warp.local.begin), zero ? 1 : 0, i.b);
    if (zero) std::memset(reinterpret_cast<void*>(at), 0, i.b);
  });
}

}  // namespace

Operation load_of(const Type& type) { return transfer_of<true>(type); }
Operation store_of(const Type& type) { return transfer_of<false>(type); }

Operation pointer_sum_of(Held index) {
  if (index == Held::i32) return pointer_sum<int32_t>;
  if (index == Held::u32) return pointer_sum<uint32_t>;
  return pointer_sum<uint64_t>;
}

Operation element_of(Held index) {
  if (index == Held::i32) return element<int32_t>;
  if (index == Held::u32) return element<uint32_t>;
  return element<int64_t>;
}

Operation pointer_difference() { return difference; }
Operation add_offset() { return offset_by; }
Operation begin_local() { return fill_local<false>; }
Operation zero_local() { return fill_local<true>; }

Operation no_result() {
  return [](Warp& warp, const Instruction& i, uint32_t lanes) {
    lane_error(warp, i, uint32_t(std::countr_zero(lanes)),
               "the end of a function that returns a value");
  };
}

Allocation* Grid::lookup(Warp& warp, uint64_t address) {
  const auto holds = [&](const Allocation& one) { return address - one.begin < one.size; };
  if (holds(warp.local)) return &warp.local;
  if (holds(warp.block->shared)) return &warp.block->shared;
  for (const auto& other : warp.block->cluster->blocks) {
    if (holds(other->shared)) return &other->shared;
  }
  Allocation* found = memory.find(address);
  if (found) found->generation = generation;
  return found;
}

void refuse_address(Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t address,
                    uint32_t bytes, const char* what) {
  const Allocation* found = warp.grid->lookup(warp, address);
  if (!found && address != 0) found = warp.grid->lookup(warp, address - 1);
  const std::string access = fmt::format("{} of {} bytes", what, bytes);
  if (!found) lane_error(warp, instruction, lane, access + " outside any allocation");
  const uint64_t offset = address - found->begin;
  if (found->kind == MemoryKind::local && offset / found->lane_bytes != lane)
    lane_error(warp, instruction, lane, access + " outside the local memory of the thread");
  const uint64_t end = found->kind == MemoryKind::local ? found->lane_bytes : found->size;
  const uint64_t at = found->kind == MemoryKind::local ? offset % found->lane_bytes : offset;
  if (at + bytes > end)
    lane_error(
        warp, instruction, lane,
        fmt::format("{} past the end of '{}': at byte {} of {}", access, found->name, at, end));
  lane_error(warp, instruction, lane,
             fmt::format("{} that is not aligned: at byte {} of '{}'", access, at, found->name));
}

void refuse_unwritten(Warp& warp, const Instruction& instruction, uint32_t lane, const Found& found,
                      uint32_t bytes) {
  const Allocation& where = *found.where;
  const bool local = where.kind == MemoryKind::local;
  const Copy* copy = where.block == nullptr ? nullptr : where.block->copy_to(found.offset);
  const std::string what =
      copy == nullptr ? "never written"
                      : fmt::format("that the asynchronous copy of line {} is yet to write",
                                    warp.grid->program.lines[copy->pc]);
  lane_error(warp, instruction, lane,
             fmt::format("read of {} bytes {}: at byte {} of '{}'", bytes, what,
                         local ? found.offset % where.lane_bytes : found.offset, where.name));
}

}  // namespace graphc::core::cuda_emulator

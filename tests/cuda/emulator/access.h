// SPDX-License-Identifier: Apache-2.0
// How an operation reaches memory: every access is looked up and checked.
#pragma once

#include <cstdint>
#include <cstring>

#include "tests/cuda/emulator/grid.h"

namespace graphc::core::cuda_emulator {

/// Bytes that a lane may touch: inside an allocation and aligned.
struct Found {
  Allocation* where;
  uint64_t offset;

  std::byte* bytes() const { return reinterpret_cast<std::byte*>(where->begin + offset); }
};

/// Throws what is wrong with the address. `what`: "read", "write", "atomic".
[[noreturn]] void refuse_address(Warp& warp, const Instruction& instruction, uint32_t lane,
                                 uint64_t address, uint32_t bytes, const char* what);
[[noreturn]] void refuse_unwritten(Warp& warp, const Instruction& instruction, uint32_t lane,
                                   const Found& found, uint32_t bytes);

inline Found find_bytes(Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t address,
                        uint32_t bytes, const char* what) {
  Allocation*& cached = warp.grid->cached[place_of(warp, instruction)];
  if (!cached || address - cached->begin >= cached->size) cached = warp.grid->lookup(warp, address);
  if (!cached) refuse_address(warp, instruction, lane, address, bytes, what);
  const uint64_t offset = address - cached->begin;
  const bool inside = cached->kind == MemoryKind::local
                          ? offset - lane * cached->lane_bytes <= cached->lane_bytes - bytes
                          : offset + bytes <= cached->size;
  if (!inside || (address & (bytes - 1)) != 0)
    refuse_address(warp, instruction, lane, address, bytes, what);
  return {cached, offset};
}

/// Whether all of `bytes`, 1 to 8 of them, were written.
template <typename T>
bool is_written(const Found& found) {
  static constexpr uint64_t ones = 0x0101010101010101u;
  uint64_t valid = 0;
  std::memcpy(&valid, found.where->valid.get() + found.offset, sizeof(T));
  return valid == ones >> (64 - 8 * sizeof(T));
}

template <typename T>
void mark_written(const Found& found) {
  std::memset(found.where->valid.get() + found.offset, 1, sizeof(T));
}

/// The value that a lane reads there.
template <typename T>
T read_value(Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t address) {
  const Found found = find_bytes(warp, instruction, lane, address, sizeof(T), "read");
  if (!is_written<T>(found)) refuse_unwritten(warp, instruction, lane, found, sizeof(T));
  if (found.where->kind != MemoryKind::local)
    warp.grid->on_read(warp, lane, *found.where, found.offset, sizeof(T),
                       place_of(warp, instruction));
  T value;
  std::memcpy(&value, found.bytes(), sizeof(T));
  return value;
}

template <typename T>
void write_value(Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t address,
                 T value) {
  const Found found = find_bytes(warp, instruction, lane, address, sizeof(T), "write");
  if (found.where->kind != MemoryKind::local)
    warp.grid->on_write(warp, lane, *found.where, found.offset, sizeof(T),
                        place_of(warp, instruction),
                        is_written<T>(found) && std::memcmp(found.bytes(), &value, sizeof(T)) == 0);
  mark_written<T>(found);
  std::memcpy(found.bytes(), &value, sizeof(T));
}

}  // namespace graphc::core::cuda_emulator

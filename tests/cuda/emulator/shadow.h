// SPDX-License-Identifier: Apache-2.0
// What is remembered of each byte of memory: whether it was written, and who touched it last.
//
// Races are found by happens-before, whatever the order of a run. A thread has a clock, drawn from
// its block's counter when it synchronises; an access is known by its thread and clock. It is
// ordered before another when the other's thread has heard of that clock: in its block by
// __syncthreads, in its warp by __syncwarp, and anywhere by a release and an acquire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace graphc::core::cuda_emulator {

/// Who accessed a cell without an order between them that a later access would imply.
struct Accesses {
  enum Kind : uint32_t { of_lanes, of_block, of_list, of_everyone };

  uint32_t who = 0;    ///< a warp of the grid, a block, or the first of a list of Reader
  uint32_t clock = 0;  ///< the latest of them; 0: no access
  uint32_t lanes = 0;  ///< of a warp
  uint32_t kind : 2 = of_lanes;
  uint32_t pc : 30 = 0;  ///< of the latest
};

/// Of a granule of memory: four bytes, or one where something narrower was touched nearby.
struct Cell {
  uint32_t writer = 0;  ///< a thread of the grid
  uint32_t clock = 0;   ///< of its write; 0: none
  uint32_t pc = 0;
  uint32_t atomics = 0;  ///< index of an Accesses, 0: none
  Accesses readers;
};

struct Page {
  uint64_t generation = 0;
  uint32_t shift = 2;  ///< a cell has 2^shift bytes
  std::unique_ptr<Cell[]> cells;
};
constexpr uint32_t page_shift = 10;
constexpr uint64_t page_bytes = 1 << page_shift;

enum class MemoryKind : uint8_t { global, shared, local };

struct Block;

/// A range of memory: an allocation, the shared memory of a block, or the local memory of a warp.
struct Allocation {
  uint64_t begin = 0, size = 0;
  MemoryKind kind = MemoryKind::global;
  uint64_t lane_bytes = 0;           ///< of local memory, of each lane
  Block* block = nullptr;            ///< of shared memory: whose
  std::unique_ptr<uint8_t[]> valid;  ///< a byte each: 1 when it was written
  uint64_t generation = 0;           ///< cells of other generations are as if never touched
  std::vector<Page> pages;           ///< none of local memory
  std::string name;

  Page& page(uint64_t offset) {
    Page& found = pages[offset >> page_shift];
    if (found.generation != generation) clear(found);
    return found;
  }
  void clear(Page& page) const;
  /// From now on a cell a byte.
  static void split(Page& page);
};

/// A number that no call returned before.
uint64_t next_generation();

}  // namespace graphc::core::cuda_emulator

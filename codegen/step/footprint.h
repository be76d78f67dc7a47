// SPDX-License-Identifier: Apache-2.0
// The accesses of a record where the loops of a plan stand: places in buffers instead of addresses.
#pragma once

#include <vector>

#include "codegen/step/access.h"
#include "codegen/step/position.h"

namespace graphc::core {

/// An access in some iterations of the loops inside a record: those in which its address moves by
/// one stride for each loop.
struct PlacedAccess {
  BufferPlace place;             ///< of the region's first place in the first of the iterations
  int64_t bytes = 0;             ///< contiguous, at each place
  std::vector<AccessAxis> axes;  ///< of the region, and AxisOf::step for loops that move it
  AccessMode mode = AccessMode::read;
  int64_t selected = -1;  ///< see Access::selected
  /// Which operand of the nest it is.
  Access::Operand operand = Access::Operand::other;
  int index = -1;
  /// The axis that workers share out, and how. -1: each worker that does anything of the record
  /// accesses all places.
  int shared_axis = -1;
  Share share;

  bool writes() const { return mode == AccessMode::write; }
  /// From the lowest byte to one past the highest, in the buffer.
  Extent extent() const;
};

/// What a record accesses at this position of the `depth` loops around it. Loops inside the record
/// run through all their steps: the places together are exactly those of all iterations, first
/// iterations and turns of slots included.
std::vector<PlacedAccess> footprint_of(const Plan& plan, const Record& record,
                                       const Position& position, int depth);

/// Where a buffer lies: memories that share no address have distinct numbers, 0 and above. All
/// buffers of the arena lie in memory 0. Numbers below 0 are a target's own: memory that is not the
/// plan's.
int memory_of(const Plan& plan, int buffer);

/// Bytes of a memory that are read or written.
struct MemoryAccess {
  int memory = 0;
  Extent bytes;
  bool writes = false;
};

/// The footprint of a record by memory, each access as the extent of its places.
std::vector<MemoryAccess> memory_accesses(const Plan& plan, const Record& record,
                                          const Position& position, int depth);

}  // namespace graphc::core

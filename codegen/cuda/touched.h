// SPDX-License-Identifier: Apache-2.0
// Which bytes a record reads and writes: what decides whether two launches may run in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/plan/position.h"

namespace graphc::core::cuda {

/// Bytes from the lowest to behind the highest that an access touches, seen from its address.
struct Extent {
  int64_t begin = 0, end = 0;

  /// Adds `count` places, each `stride` bytes behind the one before.
  void stretch(int64_t stride, int64_t count) {
    if (count <= 1) return;
    const int64_t reach = stride * (count - 1);
    (reach < 0 ? begin : end) += reach;
  }
};

inline bool overlap(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

/// How many parts of an operand a nest touches.
int parts_used(const NestProgram& program, int operand);
/// What a nest touches of an operand, along the axes around the rows as well.
Extent operand_extent(const NestProgram& program, const NestCall& call, size_t operand);
/// The same of the operands of a product.
Extent left_extent(const NestProgram& program, const NestCall& call, size_t product);
Extent right_extent(const NestProgram& program, const NestCall& call, size_t product);

/// Memories that no two addresses share, by number: the arena, each input, state, output, constant
/// and form, and what the launches of a step have beside the plan.
enum Space : int {
  kArenaSpace = -1,
  kFaultSpace = -2,
  kScratchSpace = -3,
  kMeetingSpace = -4,
  kLibrarySpace = -5,
  /// What the blocks of a loop hand to each other: numbers from here downwards.
  kExchangeSpace = -6
};

/// Bytes that are read or written.
struct Touched {
  int space = kArenaSpace;
  Extent bytes;
  bool writes = false;
};

/// The memory of a buffer of the plan.
int space_of(const Plan& plan, int buffer);

/// What a record touches at this position of the `depth` loops around it; a loop in all its steps.
std::vector<Touched> touched_by(const Plan& plan, const Record& record, const Position& position,
                                int depth);

}  // namespace graphc::core::cuda

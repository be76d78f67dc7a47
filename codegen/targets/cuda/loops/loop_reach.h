// SPDX-License-Identifier: Apache-2.0
// Which bytes the operands of a loop's nests may touch over all of its steps.
#pragma once

#include <cstdint>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// A range of bytes of a buffer; of the arena, if the buffer is there.
struct Reach {
  int64_t begin = 0, end = 0;

  /// Adds `count` places, `stride` bytes apart.
  void stretch(int64_t stride, int64_t count);
  bool meets(const Reach& other) const { return begin < other.end && other.begin < end; }
};

/// Elements of `size` bytes at a place, in all steps.
Reach reach_in_all_steps(const LoopNests& nests, const MovingPlace& place, int64_t size);

/// An operand's elements, of this many parts, in all steps but the first, where it may be
/// elsewhere.
Reach reach_of_operand(const LoopNests& nests, size_t nest, size_t operand, int64_t parts);

/// Whether two buffers have bytes in common.
bool do_buffers_meet(const LoopNests& nests, int buffer, int other);

/// Whether reaches of two buffers are ranges of the same memory.
bool is_same_memory(const LoopNests& nests, int buffer, int other);

/// How far `to` is behind `from` in an iteration of that parity; with `of_next`, behind the `from`
/// that is in the iteration before. Only for places of one buffer.
int64_t distance_in_loop(const LoopNests& nests, const MovingPlace& from, const MovingPlace& to,
                         bool of_next, int64_t parity);

}  // namespace graphc::core::cuda

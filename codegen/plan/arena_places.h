// SPDX-License-Identifier: Apache-2.0
// The constraints on the offsets of buffers in the arena, shared by placement and verification.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Alignment of every offset, in bytes.
constexpr int64_t kArenaAlignment = 64;

/// Whether the buffer needs memory of the arena.
bool is_in_arena(const Buffer& buffer);
/// Bytes of the arena that the buffer takes. Includes slack: loads of whole vectors may read past
/// its end.
int64_t arena_room(const Buffer& buffer);
/// Whether the lifetimes of two buffers have a phase in common.
bool live_together(const Buffer& a, const Buffer& b);

}  // namespace graphc::core

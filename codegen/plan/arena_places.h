// SPDX-License-Identifier: Apache-2.0
// What the offsets of buffers in the arena must obey: asked by who gives them and by who verifies.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Of every offset, in bytes.
constexpr int64_t kArenaAlignment = 64;

/// Whether the buffer needs memory of the arena.
bool is_in_arena(const Buffer& buffer);
/// Bytes of the arena that it takes: reads of whole vectors may pass the end of what they need.
int64_t arena_room(const Buffer& buffer);
/// Whether two buffers live in one phase.
bool live_together(const Buffer& a, const Buffer& b);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The memory of a plan: which values share places and the offsets of buffers; a replay checks both.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Lets values share places (codegen/plan/sharing.h), then assigns an offset to every arena buffer,
/// so that no two buffers that are live at once overlap; sets arena_bytes. `own_places`: the
/// smallest buffers, an eighth of the arena together, overlap no other buffer in any phase, so that
/// no record waits for their places.
void plan_memory(Plan& plan, bool own_places = false);

/// Replays the plan at the level of buffers. Throws an internal error if a record reads a value
/// whose place has been reused since it was written, if two live buffers overlap, or if a record
/// uses a dead buffer.
void verify_plan(const Plan& plan);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The memory of a plan: which values share places, where buffers lie; a replay checks both.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Lets values share places (codegen/plan/sharing.h), then gives every arena buffer an offset, so
/// that no two that live at once overlap; sets arena_bytes. `own_places`: the smallest ones, an
/// eighth of the arena together, overlap no other at all, so that nobody waits for their places.
void plan_memory(Plan& plan, bool own_places = false);

/// Replays the plan by buffers: throws an internal error if a record reads a value whose place has
/// been given to another since it was written, if two live buffers overlap, or a record uses a dead
/// one.
void verify_plan(const Plan& plan);

}  // namespace graphc::core

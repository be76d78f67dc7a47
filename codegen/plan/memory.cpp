// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of a plan's buffers.
#include "codegen/plan/memory.h"

#include <algorithm>

#include "codegen/plan/arena_places.h"
#include "codegen/plan/buffer_phases.h"
#include "codegen/plan/placement.h"
#include "codegen/plan/sharing.h"
#include "codegen/plan/step_places.h"
#include "codegen/step/plan.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

void set_lifetimes(Plan& plan) {
  const auto touch = [&](int index, int first, int last) {
    Buffer& buffer = plan.buffers[size_t(index)];
    if (buffer.first_phase < 0 || first < buffer.first_phase) buffer.first_phase = first;
    buffer.last_phase = std::max(buffer.last_phase, last);
  };
  BufferPhases uses;
  uses.in_phase = [&](int buffer, int phase) { touch(buffer, phase, phase); };
  uses.in_loop = [&](int buffer, const LoopCall&, int first, int last) {
    touch(buffer, first, last);
  };
  plan.phases = uses.run(plan);
}

/// Assigns offsets to the buffers of these indices; the last `own` of them are live in all phases.
void set_offsets(Plan& plan, const std::vector<size_t>& order, size_t own) {
  Placement placement(plan.phases);
  plan.arena_bytes = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    Buffer& buffer = plan.buffers[order[i]];
    const int early = mutated(Mutant::buffer_reused_early) ? 1 : 0;
    int first = buffer.first_phase, last = std::max(first, buffer.last_phase - early);
    if (i + own >= order.size()) first = 0, last = plan.phases - 1;
    buffer.offset = placement.place(first, last, arena_room(buffer));
    plan.arena_bytes = std::max(plan.arena_bytes, buffer.offset + arena_room(buffer));
  }
}

/// How many of the last buffers fit together in an eighth of the arena.
size_t smallest_of(const Plan& plan, const std::vector<size_t>& order) {
  size_t count = 0;
  int64_t left = plan.arena_bytes / 8;
  while (count < order.size()) {
    left -= arena_room(plan.buffers[order[order.size() - 1 - count]]);
    if (left < 0) break;
    ++count;
  }
  return count;
}

}  // namespace

void plan_memory(Plan& plan, bool own_places) {
  share_places(plan);
  // Records that may be reordered keep places of their own.
  if (!own_places) place_in_carries(plan);
  set_lifetimes(plan);
  overwrite(plan);
  std::vector<size_t> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (is_in_arena(plan.buffers[i])) order.push_back(i);
  }
  // The largest first, each in the lowest gap among the buffers that are live with it.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return plan.buffers[a].bytes > plan.buffers[b].bytes;
  });
  set_offsets(plan, order, 0);
  if (own_places) set_offsets(plan, order, smallest_of(plan, order));
}

}  // namespace graphc::core

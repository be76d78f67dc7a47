// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/schedule.h"

#include <algorithm>
#include <bit>

namespace graphc::core::cuda_emulator {

void Schedule::enlist(Warp& warp) {
  if (warp.ready) return;
  warp.ready = true;
  ready_.push_back(&warp);
}

void Schedule::run() {
  while (unfinished_ > 0) {
    // What is on its way arrives at any time, and when all wait.
    if (!grid_.on_the_way.empty() && (ready_.empty() || (grid_.draw.bits() & 3) == 0))
      grid_.deliver();
    if (!grid_.changed.empty()) wake(false);
    if (ready_.empty()) {
      if (grid_.on_the_way.empty()) wake(true);
      continue;
    }
    const uint32_t at = grid_.draw.below(uint32_t(ready_.size()));
    Warp& warp = *ready_[at];
    turn(warp);
    // Blocks that began or went on meanwhile only added to the list's end.
    if (warp.running == 0) {
      warp.ready = false;
      ready_[at] = ready_.back();
      ready_.pop_back();
    }
    if (!grid_.changed.empty()) wake(false);
  }
}

/// Mostly long turns, for speed, and now and then a very short one.
void Schedule::turn(Warp& warp) {
  const uint32_t drawn = grid_.draw.bits();
  int64_t most = (drawn & 7) == 0 ? 1 + (drawn >> 3 & 3) : 32 + (drawn >> 3 & 127);
  while (most > 0 && warp.running != 0) {
    const uint32_t used = go(warp, pick(warp), uint32_t(most));
    most -= std::max(used, 1u);
    instructions_ += used;
  }
  if (instructions_ > grid_.launch.most_instructions)
    grid_.fail(warp, uint32_t(std::countr_zero(warp.lanes)), warp.pc[0],
               "the launch goes on for ever: its limit of instructions is reached");
}

/// Mostly the lanes that are furthest behind, so that others meet them again where their ways
/// join; now and then any that stand together, or only some of these.
Schedule::Group Schedule::pick(const Warp& warp) {
  Group group;
  const uint32_t drawn = grid_.draw.bits();
  const bool any = (drawn & 15) == 0;
  uint32_t low = ~0u;
  for (uint32_t rest = warp.running; rest != 0; rest &= rest - 1)
    low = std::min(low, warp.pc[uint32_t(std::countr_zero(rest))]);
  group.pc = low;
  if (any) {
    const uint32_t start = drawn >> 4 & 31;
    const uint32_t turned = std::rotr(warp.running, int(start));
    group.pc = warp.pc[(uint32_t(std::countr_zero(turned)) + start) & 31];
  }
  for (uint32_t rest = warp.running; rest != 0; rest &= rest - 1) {
    const uint32_t lane = uint32_t(std::countr_zero(rest));
    if (warp.pc[lane] == group.pc)
      group.lanes |= 1u << lane;
    else if (!any)
      group.stop = std::min(group.stop, warp.pc[lane]);
  }
  if (any && (drawn >> 9 & 1) == 0) {
    const uint32_t some = group.lanes & grid_.draw.bits();
    if (some != 0) group.lanes = some;
  }
  return group;
}

void Schedule::stand(Warp& warp, uint32_t lanes, uint32_t pc) {
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    warp.pc[uint32_t(std::countr_zero(rest))] = pc;
}

/// Sets where the group goes on. Where its lanes part, those with the nearer way go on.
bool Schedule::branch(Warp& warp, Group& group, const Instruction& instruction) {
  const uint32_t* condition = warp.slot<uint32_t>(instruction.a);
  uint32_t taken = 0;
  if (group.lanes == ~0u) {
    for (uint32_t lane = 0; lane < lanes_of_warp; ++lane)
      taken |= uint32_t(condition[lane] != 0) << lane;
  } else {
    for (uint32_t rest = group.lanes; rest != 0; rest &= rest - 1) {
      const uint32_t lane = uint32_t(std::countr_zero(rest));
      taken |= uint32_t(condition[lane] != 0) << lane;
    }
  }
  if (instruction.control == Control::branch_unless) taken ^= group.lanes;
  const uint32_t target = uint32_t(instruction.immediate), next = group.pc + 1;
  if (taken == 0 || taken == group.lanes) {
    group.pc = taken == 0 ? next : target;
    return false;
  }
  const bool forward = target > group.pc;
  const uint32_t others = forward ? taken : group.lanes & ~taken;
  stand(warp, others, forward ? target : next);
  group.lanes &= ~others;
  group.pc = forward ? next : target;
  group.stop = std::min(group.stop, forward ? target : next);
  return true;
}

/// Up to `most` instructions of a group; returns how many.
uint32_t Schedule::go(Warp& warp, Group group, uint32_t most) {
  const Instruction* code = grid_.program.code.data();
  uint32_t used = 0;
  for (; used < most && group.pc < group.stop; ++used) {
    const Instruction& one = code[group.pc];
    switch (one.control) {
      case Control::plain:
        one.operation(warp, one, group.lanes);
        ++group.pc;
        break;
      case Control::jump:
        group.pc = uint32_t(one.immediate);
        break;
      case Control::branch_if:
      case Control::branch_unless:
        branch(warp, group, one);
        break;
      case Control::poll:
      case Control::poll_mbarrier:
        warp.unchanged = 0;
        one.operation(warp, one, group.lanes);
        group.lanes &= ~park(warp, warp.unchanged, group.pc);
        ++group.pc;
        if (group.lanes == 0) return used + 1;
        break;
      case Control::leave:
        leave(warp, group.lanes, group.pc);
        return used + 1;
      case Control::barrier:
        wait_for_block(warp, group.lanes, group.pc);
        return used + 1;
      case Control::cluster_arrive:
        arrive(warp, group.lanes, group.pc);
        ++group.pc;
        break;
      case Control::cluster_wait:
        group.lanes = wait_for_cluster(warp, group.lanes, group.pc);
        ++group.pc;
        if (group.lanes == 0) return used + 1;
        break;
      case Control::collective: {
        const uint32_t* named = warp.slot<uint32_t>(one.a);
        bool whole = warp.gathering == 0;
        for (uint32_t rest = group.lanes; rest != 0; rest &= rest - 1)
          whole &= named[std::countr_zero(rest)] == group.lanes;
        if (!whole) {
          gather(warp, group.lanes, group.pc);
          return used + 1;
        }
        one.operation(warp, one, group.lanes);
        ++group.pc;
        break;
      }
    }
  }
  stand(warp, group.lanes, group.pc);
  return used;
}

}  // namespace graphc::core::cuda_emulator

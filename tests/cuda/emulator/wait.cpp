// SPDX-License-Identifier: Apache-2.0
// Threads that wait, for their block, for lanes of their warp or for a change of memory.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "tests/cuda/emulator/lanes.h"
#include "tests/cuda/emulator/schedule.h"

namespace graphc::core::cuda_emulator {
namespace {

/// As often may all who poll find nothing changed before it counts as a deadlock. A thread may poll
/// a bounded number of times and then go on.
constexpr int most_idle = 4096;

}  // namespace

void Schedule::wait_for_block(Warp& warp, uint32_t lanes, uint32_t pc) {
  Block& block = *warp.block;
  const std::vector<int>& lines = grid_.program.lines;
  stand(warp, lanes, pc);
  if (block.left > 0)
    grid_.fail(warp, first_of(lanes), pc,
               fmt::format("divergent __syncthreads: {} threads of the block are done and never "
                           "come",
                           block.left));
  if (block.arrived > 0 && block.barrier != pc)
    grid_.fail(warp, first_of(lanes), pc,
               fmt::format("divergent __syncthreads: others of the block wait at that of line {}",
                           lines[block.barrier]));
  block.barrier = pc;
  block.arrived += unsigned(std::popcount(lanes));
  warp.at_barrier |= lanes;
  warp.running &= ~lanes;
  if (block.arrived == block.threads) pass_barrier(block);
}

void Schedule::pass_barrier(Block& block) {
  const Instruction& one = grid_.program.code[block.barrier];
  idle_ = 0;
  block.arrived = 0;
  block.any = 0;
  for (const auto& warp : block.warps) {
    if (!one.operation) break;
    for (uint32_t rest = warp->lanes; rest != 0; rest &= rest - 1)
      block.any |= warp->slot<int32_t>(one.a)[first_of(rest)] != 0;
  }
  grid_.synchronize_block(block);
  for (const auto& warp : block.warps) {
    if (one.operation) one.operation(*warp, one, warp->lanes);
    warp->at_barrier = 0;
    warp->running = warp->lanes;
    warp->pc.fill(block.barrier + 1);
    enlist(*warp);
  }
}

bool Schedule::is_gathered(const Warp& warp, uint32_t lane, uint32_t named) const {
  if ((named & ~warp.gathering) != 0) return false;
  const uint32_t* masks = warp.slot<uint32_t>(grid_.program.code[warp.pc[lane]].a);
  for (uint32_t rest = named; rest != 0; rest &= rest - 1)
    if (warp.pc[first_of(rest)] != warp.pc[lane] || masks[first_of(rest)] != named) return false;
  return true;
}

void Schedule::gather(Warp& warp, uint32_t lanes, uint32_t pc) {
  const Instruction& one = grid_.program.code[pc];
  const uint32_t* masks = warp.slot<uint32_t>(one.a);
  stand(warp, lanes, pc);
  warp.gathering |= lanes;
  warp.running &= ~lanes;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_of(rest), named = masks[lane];
    if ((named >> lane & 1) == 0)
      grid_.fail(warp, lane, pc,
                 fmt::format("the mask {:#x} does not name the lane itself", named));
    if ((named & (warp.left | ~warp.lanes)) != 0)
      grid_.fail(warp, lane, pc,
                 fmt::format("the mask {:#x} names lanes that never come: {:#x} are done or not "
                             "there",
                             named, named & (warp.left | ~warp.lanes)));
    if ((warp.gathering >> lane & 1) == 0 || !is_gathered(warp, lane, named)) continue;
    one.operation(warp, one, named);
    warp.gathering &= ~named;
    warp.running |= named;
    stand(warp, named, pc + 1);
  }
}

void Schedule::leave(Warp& warp, uint32_t lanes, uint32_t pc) {
  Block& block = *warp.block;
  const Program& program = grid_.program;
  stand(warp, lanes, pc);
  if (block.arrived > 0)
    grid_.fail(warp, first_of(lanes), pc,
               fmt::format("divergent __syncthreads: the thread is done while others of the block "
                           "wait at that of line {}",
                           program.lines[block.barrier]));
  leave_cluster(warp, lanes, pc);
  for (uint32_t rest = warp.gathering; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_of(rest), at = warp.pc[lane];
    const uint32_t named = warp.slot<uint32_t>(program.code[at].a)[lane];
    if (named & lanes)
      grid_.fail(warp, lane, at,
                 fmt::format("the mask {:#x} names lanes that never come: {:#x} are done or not "
                             "there",
                             named, named & (warp.left | lanes)));
  }
  grid_.check_copies(warp, lanes, pc);
  idle_ = 0;
  warp.left |= lanes;
  warp.running &= ~lanes;
  block.left += unsigned(std::popcount(lanes));
  if (block.left < block.threads) return;
  --unfinished_;
  grid_.check_remote(block, warp, first_of(lanes), pc);
  grid_.check_mbarriers(block, warp, first_of(lanes), pc);
  // The warp's turn is not over: its flags are as the next block's threads want them.
  if (block.cluster->left == block.cluster->threads) start_next(*block.cluster);
}

/// Parks those that found the same as when they were here last, with no change in between.
uint32_t Schedule::park(Warp& warp, uint32_t lanes, uint32_t pc) {
  const Instruction& one = grid_.program.code[pc];
  const uint64_t* address =
      one.control == Control::poll_mbarrier ? warp.polled.data() : warp.slot<uint64_t>(one.a);
  uint32_t result = 0;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_of(rest);
    const Poll now{address[lane], grid_.version, pc};
    Poll& last = warp.polls[lane];
    if (last.address == now.address && last.version == now.version && last.pc == now.pc)
      result |= 1u << lane;
    last = now;
  }
  if (result == 0) return 0;
  if (warp.parked == 0) parked_.push_back(&warp);
  stand(warp, result, pc + 1);
  warp.parked |= result;
  warp.running &= ~result;
  return result;
}

/// Those whose memory changed go on; all of them when nobody else can.
void Schedule::wake(bool all) {
  if (all && (parked_.empty() || ++idle_ > most_idle)) deadlock();
  if (!all) idle_ = 0;
  for (size_t i = 0; i < parked_.size();) {
    Warp& warp = *parked_[i];
    uint32_t woken = all ? warp.parked : 0;
    for (uint32_t rest = all ? 0 : warp.parked; rest != 0; rest &= rest - 1)
      if (std::ranges::count(grid_.changed, warp.polls[first_of(rest)].address) > 0)
        woken |= 1u << first_of(rest);
    warp.parked &= ~woken;
    warp.running |= woken;
    if (woken != 0) enlist(warp);
    if (warp.parked != 0) {
      ++i;
    } else {
      parked_[i] = parked_.back();
      parked_.pop_back();
    }
  }
  grid_.changed.clear();
}

void Schedule::deadlock() {
  std::vector<const Block*> blocks;
  for (const auto& cluster : resident_) {
    for (const auto& block : cluster->blocks) blocks.push_back(block.get());
  }
  for (const Block* block : blocks)
    for (const auto& warp : block->warps) {
      // Who waits for a lane or for memory says more than who waits for the block.
      const uint32_t shown = warp->gathering | warp->parked;
      if (shown == 0) continue;
      const uint32_t lane = first_of(shown), pc = warp->pc[lane];
      if (warp->gathering >> lane & 1)
        grid_.fail(*warp, lane, pc,
                   fmt::format("deadlock: it waits for the lanes {:#x} of its warp, which do not "
                               "come together here",
                               warp->slot<uint32_t>(grid_.program.code[pc].a)[lane]));
      grid_.fail(*warp, lane, pc - 1, "deadlock: it polls what nobody changes any more");
    }
  for (const Block* block : blocks)
    for (const auto& warp : block->warps) {
      if (warp->at_barrier != 0)
        grid_.fail(*warp, first_of(warp->at_barrier), block->barrier,
                   "deadlock: it waits at __syncthreads for threads that wait elsewhere");
      if (warp->at_cluster != 0)
        grid_.fail(*warp, first_of(warp->at_cluster), block->cluster->barrier,
                   "deadlock: it waits for threads of the cluster that wait elsewhere");
    }
  throw Error(ErrorKind::internal, {}, grid_.program.name + ": deadlock");
}

}  // namespace graphc::core::cuda_emulator

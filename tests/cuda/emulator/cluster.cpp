// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster: their barrier, and who may reach whose shared memory.
#include <fmt/format.h>

#include <algorithm>

#include "tests/cuda/emulator/lanes.h"
#include "tests/cuda/emulator/schedule.h"

namespace graphc::core::cuda_emulator {
namespace {

/// Whether nothing can be done between the arrival and the wait.
bool is_joined(const Program& program, uint32_t arrival) {
  return program.code[arrival + 1].control == Control::cluster_wait;
}

}  // namespace

void Schedule::arrive(Warp& warp, uint32_t lanes, uint32_t pc) {
  Cluster& cluster = *warp.block->cluster;
  const std::vector<int>& lines = grid_.program.lines;
  stand(warp, lanes, pc);
  if (const uint32_t again = warp.came & lanes)
    grid_.fail(warp, first_of(again), pc,
               "it arrives at the cluster's barrier again without having waited there");
  if (cluster.left > 0)
    grid_.fail(warp, first_of(lanes), pc,
               fmt::format("divergent barrier of a cluster: {} threads of the cluster are done and "
                           "never come",
                           cluster.left));
  if (cluster.arrived > 0 && cluster.barrier != pc)
    grid_.fail(warp, first_of(lanes), pc,
               fmt::format("divergent barrier of a cluster: others of it arrived at that of line "
                           "{}",
                           lines[cluster.barrier]));
  cluster.barrier = pc;
  cluster.arrived += unsigned(std::popcount(lanes));
  warp.came |= lanes;
  if (!is_joined(grid_.program, pc)) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      grid_.come_to_cluster(warp, first_of(rest));
  }
  if (cluster.arrived == cluster.threads) pass_cluster(cluster);
}

void Schedule::pass_cluster(Cluster& cluster) {
  idle_ = 0;
  cluster.arrived = 0;
  cluster.came = std::move(cluster.coming);
  cluster.coming.reset();
  if (is_joined(grid_.program, cluster.barrier)) grid_.synchronize_cluster(cluster);
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps) {
      const uint32_t waiting = warp->at_cluster;
      warp->may_pass = warp->came & ~waiting;
      warp->came &= ~waiting;
      warp->at_cluster = 0;
      for (uint32_t rest = cluster.came ? waiting : 0; rest != 0; rest &= rest - 1)
        grid_.go_on_from_cluster(*warp, first_of(rest));
      if (waiting == 0) continue;
      warp->running |= waiting;
      enlist(*warp);
    }
  }
}

uint32_t Schedule::wait_for_cluster(Warp& warp, uint32_t lanes, uint32_t pc) {
  stand(warp, lanes, pc);
  if (const uint32_t absent = lanes & ~warp.came)
    grid_.fail(warp, first_of(absent), pc,
               "it waits at the cluster's barrier without having arrived there");
  const uint32_t passing = lanes & warp.may_pass, waiting = lanes & ~warp.may_pass;
  if (warp.block->cluster->came) {
    for (uint32_t rest = passing; rest != 0; rest &= rest - 1)
      grid_.go_on_from_cluster(warp, first_of(rest));
  }
  warp.came &= ~passing;
  warp.may_pass &= ~passing;
  warp.at_cluster |= waiting;
  warp.running &= ~waiting;
  stand(warp, waiting, pc + 1);
  return passing;
}

void Schedule::leave_cluster(Warp& warp, uint32_t lanes, uint32_t pc) {
  Cluster& cluster = *warp.block->cluster;
  const std::vector<int>& lines = grid_.program.lines;
  if (const uint32_t came = lanes & warp.came)
    grid_.fail(warp, first_of(came), pc,
               "the thread is done without having waited at the cluster's barrier");
  if (cluster.arrived > 0)
    grid_.fail(warp, first_of(lanes), pc,
               fmt::format("divergent barrier of a cluster: the thread is done while others of it "
                           "wait at that of line {}",
                           lines[cluster.barrier]));
  cluster.left += unsigned(std::popcount(lanes));
}

void Grid::check_reach(const Warp& warp, uint32_t lane, const Block& other, uint32_t pc) const {
  if (other.cluster != warp.block->cluster)
    fail(warp, lane, pc, "an access to shared memory of a block of another cluster");
  if (other.left == other.threads)
    fail(warp, lane, pc,
         fmt::format("an access to shared memory of {}, which is done", block_name(other.index)));
  if (!heard_of_block(warp, lane, other.index, 0))
    fail(warp, lane, pc,
         fmt::format("an access to shared memory of {}, which may not have begun",
                     block_name(other.index)));
}

void Grid::on_remote(Warp& warp, uint32_t lane, const Allocation& where, uint32_t pc) {
  check_reach(warp, lane, *where.block, pc);
  where.block->remote[warp.thread(lane)] = {warp.clock[lane], pc};
}

/// Whatever one of the block's threads has heard of was before the block ended.
void Grid::check_remote(const Block& block, const Warp& warp, uint32_t lane, uint32_t pc) const {
  for (const auto& [thread, access] : block.remote) {
    const bool heard = std::ranges::any_of(block.warps, [&](const auto& each) {
      for (uint32_t rest = each->lanes; rest != 0; rest &= rest - 1) {
        if (heard_of_thread(*each, first_of(rest), thread, access.clock)) return true;
      }
      return false;
    });
    if (!heard)
      fail(warp, lane, pc,
           fmt::format("the block is done while {} may still access its shared memory in line {}",
                       thread_name(thread), program.lines[access.pc]));
  }
}

}  // namespace graphc::core::cuda_emulator

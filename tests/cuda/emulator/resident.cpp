// SPDX-License-Identifier: Apache-2.0
// Blocks that are resident: their memory, and what their threads begin with.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/cuda/emulator/schedule.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr size_t alignment = 256;

/// Uninitialised memory, aligned; `begin` is where.
std::unique_ptr<std::byte[]> aligned_memory(size_t bytes, uint64_t& begin) {
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes + alignment);
  const uint64_t first = reinterpret_cast<uintptr_t>(memory.get());
  begin = (first + alignment - 1) / alignment * alignment;
  return memory;
}

uint64_t rounded_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Schedule::Schedule(Grid& grid) : grid_(grid), waiting_(grid.blocks / grid.launch.cluster) {
  const auto clusters = uint32_t(waiting_.size());
  std::iota(waiting_.begin(), waiting_.end(), 0u);
  for (uint32_t i = clusters; i > 1; --i) std::swap(waiting_[i - 1], waiting_[grid.draw.below(i)]);
  waiting_.resize(clusters - std::min(clusters, grid.launch.absent_blocks / grid.launch.cluster));
  unfinished_ = uint32_t(waiting_.size()) * grid.launch.cluster;
  const uint32_t most = grid.launch.cooperative ? clusters : 1 + grid.draw.below(3);
  while (resident_.size() < most && !waiting_.empty()) {
    resident_.push_back(new_cluster());
    start_next(*resident_.back());
  }
}

std::unique_ptr<Cluster> Schedule::new_cluster() const {
  auto cluster = std::make_unique<Cluster>();
  for (unsigned rank = 0; rank < grid_.launch.cluster; ++rank) {
    cluster->blocks.push_back(new_block());
    cluster->blocks.back()->cluster = cluster.get();
    cluster->threads += cluster->blocks.back()->threads;
  }
  return cluster;
}

std::unique_ptr<Block> Schedule::new_block() const {
  const Program& program = grid_.program;
  const Launch& launch = grid_.launch;
  auto block = std::make_unique<Block>();
  block->threads = launch.block[0] * launch.block[1] * launch.block[2];
  Allocation& shared = block->shared;
  shared.kind = MemoryKind::shared;
  shared.block = block.get();
  shared.name = "shared memory";
  shared.size = rounded_up(program.static_shared, 16) + launch.dynamic_shared;
  block->shared_memory = aligned_memory(shared.size, shared.begin);
  shared.valid = std::make_unique_for_overwrite<uint8_t[]>(shared.size);
  shared.pages.resize((shared.size + page_bytes - 1) / page_bytes);
  for (uint32_t first = 0; first < block->threads; first += lanes_of_warp) {
    block->warps.push_back(std::make_unique<Warp>());
    Warp& warp = *block->warps.back();
    warp.grid = &grid_;
    warp.block = block.get();
    warp.index = first / lanes_of_warp;
    const uint32_t count = std::min(block->threads - first, lanes_of_warp);
    warp.lanes = ~0u >> (lanes_of_warp - count);
    uint64_t frame = 0;
    warp.frame_memory = aligned_memory(program.frame_bytes, frame);
    warp.frame = reinterpret_cast<std::byte*>(frame);
    warp.local.kind = MemoryKind::local;
    warp.local.name = "local memory";
    warp.local.lane_bytes = program.local_bytes;
    warp.local.size = lanes_of_warp * program.local_bytes;
    warp.local_memory = aligned_memory(warp.local.size, warp.local.begin);
    warp.local.valid = std::make_unique_for_overwrite<uint8_t[]>(warp.local.size);
    fill_frame(warp);
  }
  return block;
}

void Schedule::broadcast(Warp& warp, const Preset& preset, uint64_t bits) const {
  if (preset.wide)
    std::fill_n(warp.slot<uint64_t>(preset.slot), lanes_of_warp, bits);
  else
    std::fill_n(warp.slot<uint32_t>(preset.slot), lanes_of_warp, uint32_t(bits));
}

/// What stays for all blocks that use the frame.
void Schedule::fill_frame(Warp& warp) const {
  const Program& program = grid_.program;
  const Launch& launch = grid_.launch;
  std::memset(warp.frame, 0, 2 * register_bytes);  // operands that an operation does not have
  for (const Preset& one : program.constants) broadcast(warp, one, one.bits);
  for (const Preset& one : program.parameter_slots) {
    uint64_t bits = 0;
    std::memcpy(&bits, launch.parameters[one.bits], program.parameters[one.bits].size);
    broadcast(warp, one, bits);
  }
  for (const Preset& one : program.specials) {
    if (one.bits >= 6 && one.bits < 9) broadcast(warp, one, launch.block[one.bits - 6]);
    if (one.bits >= 9 && one.bits < 12) broadcast(warp, one, launch.grid[one.bits - 9]);
    if (one.bits == special_shared) broadcast(warp, one, warp.block->shared.begin);
    if (one.bits == special_dynamic)
      broadcast(warp, one, warp.block->shared.begin + rounded_up(program.static_shared, 16));
    for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
      const uint32_t thread = warp.index * lanes_of_warp + lane;
      if (one.bits == 0) warp.slot<uint32_t>(one.slot)[lane] = thread % launch.block[0];
      if (one.bits == 1)
        warp.slot<uint32_t>(one.slot)[lane] = thread / launch.block[0] % launch.block[1];
      if (one.bits == 2)
        warp.slot<uint32_t>(one.slot)[lane] = thread / launch.block[0] / launch.block[1];
      if (one.bits == special_local)
        warp.slot<uint64_t>(one.slot)[lane] = warp.local.begin + lane * program.local_bytes;
    }
  }
}

void Schedule::start(Block& block, uint32_t index) {
  const unsigned* grid = grid_.launch.grid;
  block.index = index;
  block.at[0] = index % grid[0];
  block.at[1] = index / grid[0] % grid[1];
  block.at[2] = index / grid[0] / grid[1];
  block.counter = block.base = 1;
  block.heard.reset();
  block.remote.clear();
  block.mbarriers.clear();
  block.fenced.clear();
  block.arrived = block.left = 0;
  std::memset(block.shared.valid.get(), 0, block.shared.size);
  block.shared.generation = next_generation();
  std::erase_if(grid_.released, [&](const auto& one) {
    return one.first - block.shared.begin < block.shared.size;
  });
  for (const auto& warp : block.warps) {
    warp->running = warp->lanes;
    warp->at_barrier = warp->gathering = warp->parked = warp->left = 0;
    warp->came = warp->may_pass = warp->at_cluster = 0;
    warp->pc.fill(0);
    warp->clock.fill(1);
    warp->known_at = 0;
    warp->fences.reset();
    warp->polls.fill(Poll());
    for (const Preset& one : grid_.program.specials)
      if (one.bits >= 3 && one.bits < 6) broadcast(*warp, one, block.at[one.bits - 3]);
    enlist(*warp);
  }
}

/// Beside each other along x.
void Schedule::start_next(Cluster& cluster) {
  if (waiting_.empty()) return;
  const uint32_t next = waiting_.back(), size = grid_.launch.cluster;
  waiting_.pop_back();
  cluster.arrived = cluster.left = 0;
  cluster.coming.reset();
  cluster.came.reset();
  for (uint32_t rank = 0; rank < size; ++rank) start(*cluster.blocks[rank], next * size + rank);
}

}  // namespace graphc::core::cuda_emulator

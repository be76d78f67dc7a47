// SPDX-License-Identifier: Apache-2.0
// What threads tell each other by barriers, fences, releases and acquires.
#include <algorithm>
#include <bit>

#include "tests/cuda/emulator/grid.h"

namespace graphc::core::cuda_emulator {
namespace {

using Entries = std::vector<std::pair<uint32_t, uint32_t>>;

uint32_t clock_of(const Entries& entries, uint32_t who) {
  const auto found = std::lower_bound(entries.begin(), entries.end(), std::pair(who, 0u));
  return found != entries.end() && found->first == who ? found->second : 0;
}

/// The later clock of each.
Entries merged(const Entries& a, const Entries& b) {
  Entries result;
  result.reserve(a.size() + b.size());
  auto left = a.begin(), right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->first < right->first)) {
      result.push_back(*left++);
    } else if (left == a.end() || right->first < left->first) {
      result.push_back(*right++);
    } else {
      result.emplace_back(left->first, std::max(left->second, right->second));
      ++left, ++right;
    }
  }
  return result;
}

/// Whether all that `b` says of blocks and threads, `a` says too.
bool covers(const Entries& a, const Entries& b) {
  if (b.size() > a.size()) return false;
  auto left = a.begin();
  for (const auto& [who, clock] : b) {
    while (left != a.end() && left->first < who) ++left;
    if (left == a.end() || left->first != who || left->second < clock) return false;
  }
  return true;
}

bool covers(const Heard& a, const Heard& b) {
  return covers(a.blocks, b.blocks) && covers(a.threads, b.threads);
}

/// The row of what a lane knows of its warp, made valid for the block's present base.
std::array<uint32_t, lanes_of_warp>& known_row(Warp& warp, uint32_t lane) {
  if (warp.known_at != warp.block->base) {
    for (auto& row : warp.known) row.fill(0);
    warp.known_at = warp.block->base;
  }
  return warp.known[lane];
}

HeardPtr* acquired_by(Warp& warp, uint32_t lane) {
  if (!warp.fences) warp.fences = std::make_unique<Fences>();
  return &warp.fences->acquired[lane];
}

/// All that a lane has heard of, itself included; its own later accesses are not.
HeardPtr heard_by(Warp& warp, uint32_t lane) {
  Block& block = *warp.block;
  auto own = std::make_shared<Heard>();
  const std::array<uint32_t, lanes_of_warp>& row = known_row(warp, lane);
  uint32_t least = warp.clock[lane] + 1;
  for (uint32_t other = 0; other < lanes_of_warp; ++other) {
    if ((warp.lanes >> other & 1) == 0) continue;
    const uint32_t clock = other == lane ? warp.clock[lane] + 1 : row[other];
    least = std::min(least, std::max(clock, block.base));
    if (clock > block.base) own->threads.emplace_back(warp.thread(other), clock);
  }
  // Of a block of one warp, what is known of each lane is known of the block.
  own->blocks.emplace_back(block.index, block.warps.size() == 1 ? least : block.base);
  HeardPtr result = own;
  result = joined(result, block.heard);
  if (warp.fences) result = joined(result, warp.fences->acquired[lane]);
  warp.clock[lane] = ++block.counter;
  return result;
}

}  // namespace

bool Heard::of_block(uint32_t block, uint32_t clock) const {
  return clock_of(blocks, block) > clock;
}

bool Heard::of_thread(uint32_t thread, uint32_t clock) const {
  return clock_of(threads, thread) > clock || of_block(thread >> 10, clock);
}

HeardPtr joined(const HeardPtr& a, const HeardPtr& b) {
  if (!a || a == b) return b;
  if (!b || covers(*a, *b)) return a;
  if (covers(*b, *a)) return b;
  auto both = std::make_shared<Heard>();
  both->blocks = merged(a->blocks, b->blocks);
  both->threads = merged(a->threads, b->threads);
  // What is heard of a block is heard of its threads.
  std::erase_if(both->threads, [&](const auto& thread) {
    return thread.second <= clock_of(both->blocks, thread.first >> 10);
  });
  return both;
}

bool Grid::heard_of_block(const Warp& warp, uint32_t lane, uint32_t block, uint32_t clock) const {
  if (block == warp.block->index && clock < warp.block->base) return true;
  if (warp.block->heard && warp.block->heard->of_block(block, clock)) return true;
  return warp.fences && warp.fences->acquired[lane] &&
         warp.fences->acquired[lane]->of_block(block, clock);
}

bool Grid::heard_of_thread(const Warp& warp, uint32_t lane, uint32_t thread, uint32_t clock) const {
  if (thread >> 10 == warp.block->index) {
    if (clock < warp.block->base) return true;
    if (thread >> 5 == warp.number() && warp.known_at == warp.block->base &&
        clock < warp.known[lane][thread & 31])
      return true;
  }
  if (warp.block->heard && warp.block->heard->of_thread(thread, clock)) return true;
  return warp.fences && warp.fences->acquired[lane] &&
         warp.fences->acquired[lane]->of_thread(thread, clock);
}

void Grid::synchronize_block(Block& block) {
  block.base = ++block.counter;
  for (const auto& warp : block.warps) {
    warp->clock.fill(block.base);
    if (!warp->fences) continue;
    for (HeardPtr& acquired : warp->fences->acquired) {
      block.heard = joined(block.heard, acquired);
      acquired.reset();
    }
  }
}

void Grid::synchronize_lanes(Warp& warp, uint32_t lanes) {
  const uint32_t now = ++warp.block->counter;
  known_row(warp, 0);
  std::array<uint32_t, lanes_of_warp> together{};
  HeardPtr acquired;
  for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (uint32_t other = 0; other < lanes_of_warp; ++other)
      together[other] = std::max(together[other], warp.known[lane][other]);
    if (warp.fences) acquired = joined(acquired, warp.fences->acquired[lane]);
  }
  for (uint32_t lane = 0; lane < lanes_of_warp; ++lane)
    if (lanes >> lane & 1) together[lane] = now;
  for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    warp.known[lane] = together;
    warp.clock[lane] = now;
    if (acquired) warp.fences->acquired[lane] = acquired;
  }
}

void Grid::synchronize_cluster(Cluster& cluster) {
  auto ends = std::make_shared<Heard>();
  HeardPtr all;
  for (const auto& block : cluster.blocks) {
    synchronize_block(*block);
    ends->blocks.emplace_back(block->index, block->base);
    all = joined(all, block->heard);
  }
  std::ranges::sort(ends->blocks);
  all = joined(all, ends);
  for (const auto& block : cluster.blocks) block->heard = all;
}

void Grid::come_to_cluster(Warp& warp, uint32_t lane) {
  HeardPtr& coming = warp.block->cluster->coming;
  coming = joined(coming, heard_by(warp, lane));
}

void Grid::go_on_from_cluster(Warp& warp, uint32_t lane) {
  HeardPtr* acquired = acquired_by(warp, lane);
  *acquired = joined(*acquired, warp.block->cluster->came);
}

void Grid::acquire(Warp& warp, uint32_t lane, uint64_t address) {
  if (released.empty()) return;
  const auto found = released.find(address);
  if (found == released.end()) return;
  HeardPtr* acquired = acquired_by(warp, lane);
  *acquired = joined(*acquired, found->second);
}

void Grid::release(Warp& warp, uint32_t lane, uint64_t address) {
  released[address] = heard_by(warp, lane);
}

void Grid::relaxed_load(Warp& warp, uint32_t lane, uint64_t address) {
  if (released.empty()) return;
  const auto found = released.find(address);
  if (found == released.end()) return;
  if (!warp.fences) warp.fences = std::make_unique<Fences>();
  HeardPtr& read = warp.fences->read[lane];
  read = joined(read, found->second);
}

/// An update leaves what others released there; it adds what the thread's last fence closed.
void Grid::relaxed_update(Warp& warp, uint32_t lane, uint64_t address) {
  relaxed_load(warp, lane, address);
  if (!warp.fences || !warp.fences->released[lane]) return;
  HeardPtr& at = released[address];
  at = joined(at, warp.fences->released[lane]);
}

HeardPtr Grid::told_by(Warp& warp, uint32_t lanes) {
  Block& block = *warp.block;
  auto own = std::make_shared<Heard>();
  known_row(warp, 0);
  std::array<uint32_t, lanes_of_warp> latest{};
  HeardPtr acquired;
  for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    for (uint32_t other = 0; other < lanes_of_warp; ++other)
      latest[other] = std::max(latest[other], warp.known[lane][other]);
    // All that the lane did until now, and nothing that it does from now on.
    latest[lane] = block.counter + 1;
    if (warp.fences) acquired = joined(acquired, warp.fences->acquired[lane]);
  }
  for (uint32_t lane = 0; lane < lanes_of_warp; ++lane) {
    if (latest[lane] > block.base) own->threads.emplace_back(warp.thread(lane), latest[lane]);
    if (lanes >> lane & 1) warp.clock[lane] = block.counter + 1;
  }
  ++block.counter;
  own->blocks.emplace_back(block.index, block.base);
  return joined(joined(own, block.heard), acquired);
}

void Grid::hear(Warp& warp, uint32_t lanes, const HeardPtr& told) {
  // Lanes that have heard the same share it.
  HeardPtr before, now;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    HeardPtr& acquired = *acquired_by(warp, uint32_t(std::countr_zero(rest)));
    if (now == nullptr || acquired != before) {
      before = acquired;
      now = joined(acquired, told);
    }
    acquired = now;
  }
}

void Grid::fence(Warp& warp, uint32_t lane) {
  HeardPtr* acquired = acquired_by(warp, lane);
  *acquired = joined(*acquired, warp.fences->read[lane]);
  warp.fences->read[lane].reset();
  warp.fences->released[lane] = heard_by(warp, lane);
}

}  // namespace graphc::core::cuda_emulator

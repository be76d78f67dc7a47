// SPDX-License-Identifier: Apache-2.0
// Accesses of which one is a write and that nothing orders.
#include <fmt/format.h>

#include <bit>

#include "tests/cuda/emulator/grid.h"

namespace graphc::core::cuda_emulator {
namespace {

/// More blocks than these in a list of readers, and it counts as everyone.
constexpr int most_listed = 64;

/// One access being looked at.
struct Access {
  Grid& grid;
  Warp& warp;
  uint32_t lane;
  uint32_t thread;
  uint32_t clock;
  uint32_t pc;
  const Allocation& where;
  uint64_t offset;
  uint32_t bytes;
  /// Of an asynchronous write: what it comes after. Its thread is none that runs.
  const Heard* heard = nullptr;

  bool heard_of_block(uint32_t block, uint32_t clock_there) const {
    return heard != nullptr ? heard->of_block(block, clock_there)
                            : grid.heard_of_block(warp, lane, block, clock_there);
  }
};

[[noreturn]] void race(const Access& access, const char* what, const char* other,
                       const std::string& who, uint32_t pc) {
  access.grid.fail(access.warp, access.lane, access.pc,
                   fmt::format("race: {} of {} bytes at byte {} of '{}' and {} by {} in line {}, "
                               "with nothing that orders them",
                               what, access.bytes, access.offset, access.where.name, other, who,
                               access.grid.program.lines[pc]));
}

bool is_ordered(const Access& access, uint32_t thread, uint32_t clock) {
  if (access.heard != nullptr) return access.heard->of_thread(thread, clock);
  return thread == access.thread ||
         access.grid.heard_of_thread(access.warp, access.lane, thread, clock);
}

/// A lane of those that is unordered with the access, -1: none.
int unordered_lane(const Access& access, const Accesses& others) {
  if (access.heard == nullptr && others.who >> 5 == access.warp.block->index &&
      others.clock < access.warp.block->base)
    return -1;
  for (uint32_t rest = others.lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = uint32_t(std::countr_zero(rest));
    if (!is_ordered(access, others.who << 5 | lane, others.clock)) return int(lane);
  }
  return -1;
}

/// Whether the access is ordered after those of a list's entry.
bool is_after(const Access& access, const Reader& reader) {
  if (reader.lanes == 0) return access.heard_of_block(reader.who, reader.clock);
  Accesses lanes;
  lanes.who = reader.who;
  lanes.clock = reader.clock;
  lanes.lanes = reader.lanes;
  return unordered_lane(access, lanes) < 0;
}

bool has_heard_of_all(const Access& access) {
  for (uint32_t block = 0; block < access.grid.blocks; ++block)
    if (block != access.warp.block->index && !access.heard_of_block(block, 0)) return false;
  return true;
}

void check_against(const Access& access, const Accesses& others, const char* what,
                   const char* other) {
  if (others.clock == 0) return;
  const Grid& grid = access.grid;
  if (others.kind == Accesses::of_lanes) {
    const int lane = unordered_lane(access, others);
    if (lane >= 0)
      race(access, what, other, grid.thread_name(others.who << 5 | uint32_t(lane)), others.pc);
  } else if (others.kind == Accesses::of_block) {
    if (!access.heard_of_block(others.who, others.clock))
      race(access, what, other, "threads of " + grid.block_name(others.who), others.pc);
  } else if (others.kind == Accesses::of_list) {
    for (uint32_t at = others.who; at != 0; at = grid.readers[at].next) {
      const Reader& reader = grid.readers[at];
      if (!is_after(access, reader))
        race(access, what, other,
             "threads of " + grid.block_name(reader.lanes == 0 ? reader.who : reader.who >> 5),
             reader.pc);
    }
  } else if (!has_heard_of_all(access)) {
    race(access, what, other, "threads of many blocks", others.pc);
  }
}

void replace(const Access& access, Accesses& others) {
  others.who = access.warp.number();
  others.clock = access.clock;
  others.lanes = 1u << access.lane;
  others.kind = Accesses::of_lanes;
  others.pc = access.pc & 0x3FFFFFFF;
}

uint32_t listed(Grid& grid, uint32_t next, uint32_t who, uint32_t clock, uint32_t pc,
                uint32_t lanes = 0) {
  grid.readers.push_back({next, who, clock, pc, lanes});
  return uint32_t(grid.readers.size() - 1);
}

/// Whether a barrier, or a flag, orders the access behind all of a list.
bool is_after_list(const Access& access, const Accesses& others) {
  for (uint32_t at = others.who; at != 0; at = access.grid.readers[at].next) {
    if (!is_after(access, access.grid.readers[at])) return false;
  }
  return true;
}

/// Whether the warps of a block are told apart: what they read is overwritten by others to whom
/// each of them has told that it has read, without a barrier of the block.
bool is_by_warps(const Access& access) {
  return access.where.block == access.warp.block && !access.warp.block->mbarriers.empty();
}

void add_to_list(const Access& access, Accesses& others) {
  // Else what this thread reads before it writes would stand for what others read long ago.
  if (is_after_list(access, others)) return replace(access, others);
  Grid& grid = access.grid;
  const bool by_warps = is_by_warps(access);
  const uint32_t who = by_warps ? access.warp.number() : access.warp.block->index;
  const uint32_t lanes = by_warps ? 1u << access.lane : 0;
  int length = 0;
  for (uint32_t at = others.who; at != 0; at = grid.readers[at].next, ++length) {
    Reader& reader = grid.readers[at];
    if (reader.who != who || (reader.lanes != 0) != by_warps) continue;
    reader.lanes |= lanes;
    reader.clock = std::max(reader.clock, access.clock);
    reader.pc = access.pc;
    return;
  }
  // All blocks of a cooperative launch are resident, and flags may order any of them.
  if (length >= most_listed && !grid.launch.cooperative)
    others.kind = Accesses::of_everyone;
  else
    others.who = listed(grid, others.who, who, access.clock, access.pc, lanes);
}

void add(const Access& access, Accesses& others) {
  const uint32_t block = access.warp.block->index;
  if (others.clock == 0) return replace(access, others);
  if (others.kind == Accesses::of_everyone) return;
  if (others.kind == Accesses::of_list) return add_to_list(access, others);
  const bool of_lanes = others.kind == Accesses::of_lanes;
  const uint32_t other_block = of_lanes ? others.who >> 5 : others.who;
  if (other_block == block && others.clock < access.warp.block->base)
    return replace(access, others);
  if (of_lanes && others.who == access.warp.number()) {
    if (access.clock > others.clock && unordered_lane(access, others) < 0)
      return replace(access, others);
    others.lanes |= 1u << access.lane;
    others.clock = std::max(others.clock, access.clock);
  } else if (other_block == block && of_lanes && is_by_warps(access)) {
    if (unordered_lane(access, others) < 0) return replace(access, others);
    const uint32_t first =
        listed(access.grid, 0, others.who, others.clock, others.pc, others.lanes);
    others.who = listed(access.grid, first, access.warp.number(), access.clock, access.pc,
                        1u << access.lane);
    others.kind = Accesses::of_list;
  } else if (other_block == block) {
    others.kind = Accesses::of_block;
    others.who = block;
    others.clock = std::max(others.clock, access.clock);
  } else if (of_lanes ? unordered_lane(access, others) < 0
                      : access.grid.heard_of_block(access.warp, access.lane, other_block,
                                                   others.clock)) {
    replace(access, others);
  } else {
    const uint32_t first = listed(access.grid, 0, other_block, others.clock, others.pc);
    others.who = listed(access.grid, first, block, access.clock, access.pc);
    others.kind = Accesses::of_list;
  }
}

/// The common cases of is_ordered(), at once.
bool is_plainly_ordered(const Warp& warp, uint32_t thread, const Cell& cell) {
  return cell.clock == 0 || cell.writer == thread ||
         (cell.writer >> 10 == warp.block->index && cell.clock < warp.block->base);
}

void check_writer(const Access& access, const Cell& cell, const char* what) {
  if (cell.clock != 0 && !is_ordered(access, cell.writer, cell.clock))
    race(access, what, "a write", access.grid.thread_name(cell.writer), cell.pc);
}

/// Calls f with each cell of the access.
template <typename F>
void each_cell(Allocation& where, uint64_t offset, uint32_t bytes, F f) {
  Page& page = where.page(offset);
  if (bytes < 4 && page.shift != 0) Allocation::split(page);
  const uint64_t in_page = offset & (page_bytes - 1);
  const uint64_t first = in_page >> page.shift, last = (in_page + bytes - 1) >> page.shift;
  for (uint64_t i = first; i <= last; ++i) f(page.cells[i]);
}

}  // namespace

void Grid::on_read(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                   uint32_t pc) {
  if (where.block != nullptr && where.block != warp.block) on_remote(warp, lane, where, pc);
  const Access access{*this, warp,   lane, warp.thread(lane), warp.clock[lane], pc,
                      where, offset, bytes};
  each_cell(where, offset, bytes, [&](Cell& cell) {
    if (!is_plainly_ordered(warp, access.thread, cell)) check_writer(access, cell, "a read");
    if (cell.atomics != 0) check_against(access, atomics[cell.atomics], "a read", "an atomic");
    Accesses& readers_there = cell.readers;
    if (readers_there.kind == Accesses::of_lanes && readers_there.who == warp.number() &&
        readers_there.clock == access.clock)
      readers_there.lanes |= 1u << lane;
    else
      add(access, readers_there);
  });
}

void Grid::on_write(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                    uint32_t pc, bool same) {
  if (where.block != nullptr && where.block != warp.block) on_remote(warp, lane, where, pc);
  const Access access{*this, warp,   lane, warp.thread(lane), warp.clock[lane], pc,
                      where, offset, bytes};
  each_cell(where, offset, bytes, [&](Cell& cell) {
    if (!is_plainly_ordered(warp, access.thread, cell) && (!same || cell.pc != pc))
      check_writer(access, cell, "a write");
    if (cell.atomics != 0) check_against(access, atomics[cell.atomics], "a write", "an atomic");
    const Accesses& readers_there = cell.readers;
    const bool by_itself = readers_there.kind == Accesses::of_lanes &&
                           readers_there.who == warp.number() && readers_there.lanes == 1u << lane;
    if (!by_itself) check_against(access, readers_there, "a write", "a read");
    cell.writer = access.thread;
    cell.clock = access.clock;
    cell.pc = pc;
    cell.atomics = 0;
    cell.readers = Accesses{};
  });
}

void Grid::on_asynchronous_write(const AsynchronousWrite& write, uint32_t writer, uint32_t clock) {
  static const Heard none;
  Allocation& where = write.to->shared;
  const size_t part = write.bytes.size() / write.offsets.size();
  for (uint64_t at = 0; at < write.bytes.size(); at += 4) {
    const Access access{*this,      *write.warp,
                        write.lane, writer,
                        clock,      write.pc,
                        where,      write.offsets[at / part] + at % part,
                        4,          write.heard ? write.heard.get() : &none};
    each_cell(where, access.offset, 4, [&](Cell& cell) {
      check_writer(access, cell, "an asynchronous write");
      if (cell.atomics != 0)
        check_against(access, atomics[cell.atomics], "an asynchronous write", "an atomic");
      check_against(access, cell.readers, "an asynchronous write", "a read");
      cell = Cell{};
      cell.writer = writer;
      cell.clock = clock;
      cell.pc = write.pc;
    });
  }
}

void Grid::on_copied(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                     uint32_t pc) {
  for (uint64_t at = offset; at < offset + bytes; at += 4) {
    const Access access{*this, warp, lane, warp.thread(lane), warp.clock[lane], pc, where, at, 4};
    each_cell(where, at, 4, [&](const Cell& cell) {
      check_writer(access, cell, "an asynchronous copy");
      const auto fenced = warp.block->fenced.find(cell.writer);
      if (cell.clock != 0 && cell.writer >> 10 < blocks &&
          (fenced == warp.block->fenced.end() || fenced->second < cell.clock))
        fail(warp, lane, pc,
             fmt::format("an asynchronous copy of byte {} of '{}', which {} wrote in line {} with "
                         "no fence.proxy.async after it",
                         at, where.name, thread_name(cell.writer), program.lines[cell.pc]));
    });
  }
}

void Grid::on_atomic(Warp& warp, uint32_t lane, Allocation& where, uint64_t offset, uint32_t bytes,
                     uint32_t pc, Atomic what) {
  if (where.block != nullptr && where.block != warp.block) on_remote(warp, lane, where, pc);
  const Access access{*this, warp,   lane, warp.thread(lane), warp.clock[lane], pc,
                      where, offset, bytes};
  each_cell(where, offset, bytes, [&](Cell& cell) {
    check_writer(access, cell, "an atomic");
    if (what == Atomic::load) return;
    check_against(access, cell.readers, "an atomic", "a read");
    if (cell.atomics == 0) {
      atomics.emplace_back();
      cell.atomics = uint32_t(atomics.size() - 1);
    }
    add(access, atomics[cell.atomics]);
  });
}

std::string Grid::block_name(uint32_t block) const {
  return fmt::format("block ({},{},{})", block % launch.grid[0],
                     block / launch.grid[0] % launch.grid[1],
                     block / launch.grid[0] / launch.grid[1]);
}

std::string Grid::thread_name(uint32_t thread) const {
  if (const uint32_t number = thread >> 10; number >= blocks) return writers[number - blocks];
  const uint32_t in_block = thread & 1023;
  return fmt::format("{} thread ({},{},{})", block_name(thread >> 10), in_block % launch.block[0],
                     in_block / launch.block[0] % launch.block[1],
                     in_block / launch.block[0] / launch.block[1]);
}

}  // namespace graphc::core::cuda_emulator

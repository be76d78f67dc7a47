// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/asynchronous.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/lanes.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr uint64_t mbarrier_bytes = 8;
constexpr int64_t most_pending_bytes = (1 << 20) - 1;

/// The place of `bytes` at a shared address of a lane.
SharedPlace shared_place(const Warp& warp, const Instruction& i, uint32_t lane, uint32_t address,
                         uint64_t bytes, uint64_t alignment) {
  const uint32_t rank = address >> shared_offset_bits;
  const auto& blocks = warp.block->cluster->blocks;
  if (rank > blocks.size())
    lane_error(warp, i, lane, fmt::format("{:#x} is no address of shared memory", address));
  SharedPlace place{rank == 0 ? warp.block : blocks[rank - 1].get(),
                    address & ((1u << shared_offset_bits) - 1)};
  if (place.offset + bytes > place.block->shared.size)
    lane_error(warp, i, lane,
               fmt::format("an access of {} bytes past the end of shared memory, at byte {}", bytes,
                           place.offset));
  if (place.offset % alignment != 0)
    lane_error(warp, i, lane,
               fmt::format("an access of {} bytes at byte {} of shared memory, wanted a multiple "
                           "of {}",
                           bytes, place.offset, alignment));
  if (place.block != warp.block)
    warp.grid->check_reach(warp, lane, *place.block, place_of(warp, i));
  return place;
}

/// The mbarrier at a shared address, which the lane knows to be initialised.
Mbarrier& mbarrier_at(const Warp& warp, const Instruction& i, uint32_t lane,
                      const SharedPlace& place) {
  const auto found = place.block->mbarriers.find(place.offset);
  if (found == place.block->mbarriers.end())
    lane_error(
        warp, i, lane,
        fmt::format("no mbarrier was initialised at byte {} of shared memory", place.offset));
  Mbarrier& mbarrier = found->second;
  if (mbarrier.by != warp.thread(lane) &&
      !warp.grid->heard_of_thread(warp, lane, mbarrier.by, mbarrier.clock))
    lane_error(warp, i, lane,
               fmt::format("race: an mbarrier that {} initialises, with nothing that orders them",
                           warp.grid->thread_name(mbarrier.by)));
  if (place.block != warp.block && !mbarrier.is_fenced)
    lane_error(warp, i, lane,
               "an mbarrier of another block, initialised with no fence.mbarrier_init behind it");
  return mbarrier;
}

void note_change(Grid& grid, uint64_t address) {
  ++grid.version;
  grid.changed.push_back(address);
}

void end_phase(Grid& grid, const Block& block, uint64_t offset, Mbarrier& mbarrier) {
  if (mbarrier.pending != 0 || mbarrier.bytes != 0) return;
  mbarrier.pending = mbarrier.wanted;
  mbarrier.came = 0;
  ++mbarrier.phase;
  auto writes = std::make_shared<Heard>();
  writes->threads.emplace_back(mbarrier.writer, mbarrier.writes + 1);
  mbarrier.told = joined(mbarrier.told, writes);
  for (const HeardPtr& heard : mbarrier.gathered) mbarrier.told = joined(mbarrier.told, heard);
  mbarrier.gathered.clear();
  note_change(grid, block.shared.begin + offset);
}

void address_of_shared(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint64_t* address = warp.slot<uint64_t>(i.b);
  uint64_t* result = warp.slot<uint64_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    result[lane] = address[lane] - warp.block->shared.begin;
    if (result[lane] >= warp.block->shared.size)
      lane_error(warp, i, lane, "cvta of an address outside the block's shared memory");
  });
}

void map_shared_address(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.b);
  const uint32_t* rank = warp.slot<uint32_t>(i.c);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  const size_t blocks = warp.block->cluster->blocks.size();
  each_lane_in_order(lanes, [&](uint32_t lane) {
    if (address[lane] >= warp.block->shared.size)
      lane_error(warp, i, lane, "mapa of an address outside the block's shared memory");
    if (rank[lane] >= blocks)
      lane_error(warp, i, lane,
                 fmt::format("mapa to block {} of a cluster of {}", rank[lane], blocks));
    result[lane] = (rank[lane] + 1) << shared_offset_bits | address[lane];
  });
}

/// Words behind each other.
template <uint32_t words>
void load_words(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.b);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const SharedPlace place = shared_place(warp, i, lane, address[lane], 4 * words, 4 * words);
    if (place.block != warp.block)
      lane_error(warp, i, lane, "ld.shared of the shared memory of another block");
    for (uint32_t word = 0; word < words; ++word)
      warp.slot<uint32_t>(i.result + word * register_bytes)[lane] =
          read_value<uint32_t>(warp, i, lane, place.block->shared.begin + place.offset + 4 * word);
  });
}

/// An address, and words for behind each other.
template <uint32_t words>
void store_words(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.result);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const SharedPlace place = shared_place(warp, i, lane, address[lane], 4 * words, 4 * words);
    if (place.block != warp.block)
      lane_error(warp, i, lane, "st.shared to the shared memory of another block");
    for (uint32_t word = 0; word < words; ++word)
      write_value<uint32_t>(warp, i, lane, place.block->shared.begin + place.offset + 4 * word,
                            warp.slot<uint32_t>(i.result + (word + 1) * register_bytes)[lane]);
  });
}

void initialise(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.result);
  const uint32_t* count = warp.slot<uint32_t>(i.c);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    Grid& grid = *warp.grid;
    const SharedPlace place =
        shared_place(warp, i, lane, address[lane], mbarrier_bytes, mbarrier_bytes);
    if (place.block != warp.block || place.block->mbarriers.contains(place.offset))
      lane_error(warp, i, lane, "mbarrier.init of another block's mbarrier, or a second time");
    if (count[lane] == 0) lane_error(warp, i, lane, "an mbarrier of 0 arrivals");
    Mbarrier& mbarrier = place.block->mbarriers[place.offset];
    mbarrier.wanted = mbarrier.pending = count[lane];
    mbarrier.by = warp.thread(lane);
    mbarrier.clock = warp.clock[lane];
    mbarrier.writer = (grid.blocks + uint32_t(grid.writers.size())) << 10;
    grid.writers.push_back(
        fmt::format("the asynchronous writes that the mbarrier at byte {} of {} "
                    "counts",
                    place.offset, grid.block_name(place.block->index)));
  });
}

void fence_initialisation(Warp& warp, const Instruction&, uint32_t lanes) {
  each_lane_in_order(lanes, [&](uint32_t lane) {
    for (auto& [offset, mbarrier] : warp.block->mbarriers)
      mbarrier.is_fenced |= mbarrier.by == warp.thread(lane);
  });
}

void expect(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.result);
  const uint32_t* bytes = warp.slot<uint32_t>(i.c);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const SharedPlace place =
        shared_place(warp, i, lane, address[lane], mbarrier_bytes, mbarrier_bytes);
    if (place.block != warp.block)
      lane_error(warp, i, lane, "mbarrier.arrive.expect_tx at another block's mbarrier");
    Mbarrier& mbarrier = mbarrier_at(warp, i, lane, place);
    if (mbarrier.pending == 0)
      lane_error(warp, i, lane, "more arrivals at an mbarrier than its phase takes");
    --mbarrier.pending;
    mbarrier.bytes += bytes[lane];
    if (mbarrier.bytes > most_pending_bytes)
      lane_error(warp, i, lane, fmt::format("an mbarrier expects {} bytes", mbarrier.bytes));
    mbarrier.gathered.insert(warp.grid->told_by(warp, 1u << lane));
    end_phase(*warp.grid, *place.block, place.offset, mbarrier);
  });
}

/// Now and then it fails for no reason, as the instruction may.
void try_wait(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.b);
  const uint32_t* parity = warp.slot<uint32_t>(i.c);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  const bool fails = warp.grid->draw.below(8) == 0;
  uint32_t hearing = 0;  // lanes that hear of `told`
  HeardPtr told;
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const SharedPlace place =
        shared_place(warp, i, lane, address[lane], mbarrier_bytes, mbarrier_bytes);
    if (place.block != warp.block)
      lane_error(warp, i, lane, "mbarrier.try_wait at another block's mbarrier");
    if (parity[lane] > 1) lane_error(warp, i, lane, fmt::format("parity {}", parity[lane]));
    const Mbarrier& mbarrier = mbarrier_at(warp, i, lane, place);
    warp.polled[lane] = place.block->shared.begin + place.offset;
    const bool is_over = (mbarrier.phase & 1) != parity[lane];
    result[lane] = is_over && !fails ? 1 : 0;
    if (!is_over) warp.unchanged |= 1u << lane;
    if (result[lane] == 0) return;
    if (mbarrier.told != told) {
      if (hearing != 0) warp.grid->hear(warp, hearing, told);
      hearing = 0;
      told = mbarrier.told;
    }
    hearing |= 1u << lane;
  });
  if (hearing != 0) warp.grid->hear(warp, hearing, told);
}

AsynchronousWrite write_of(Warp& warp, const Instruction& i, uint32_t lane, uint32_t to,
                           uint32_t mbarrier, uint64_t bytes, uint64_t alignment) {
  const SharedPlace place = shared_place(warp, i, lane, to, bytes, alignment);
  const SharedPlace counter = shared_place(warp, i, lane, mbarrier, mbarrier_bytes, mbarrier_bytes);
  if (counter.block != place.block)
    lane_error(warp, i, lane, "an asynchronous write that another block's mbarrier counts");
  mbarrier_at(warp, i, lane, counter);
  AsynchronousWrite write;
  write.to = place.block;
  write.offsets = {place.offset};
  write.mbarrier = counter.offset;
  write.bytes.resize(bytes);
  write.warp = &warp;
  write.lane = lane;
  write.thread = warp.thread(lane);
  write.pc = place_of(warp, i);
  return write;
}

/// st.async: an address, words, and the mbarrier.
template <uint32_t words>
void store_asynchronously(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* address = warp.slot<uint32_t>(i.result);
  const uint32_t* mbarrier = warp.slot<uint32_t>(i.c);
  const HeardPtr heard = warp.grid->told_by(warp, lanes);
  const size_t before = warp.grid->on_the_way.size();
  const bool alone = warp.grid->draw.below(16) == 0;
  each_lane_in_order(lanes, [&](uint32_t lane) {
    AsynchronousWrite write =
        write_of(warp, i, lane, address[lane], mbarrier[lane], 4 * words, 4 * words);
    for (uint32_t word = 0; word < words; ++word)
      std::memcpy(&write.bytes[4 * word],
                  &warp.slot<uint32_t>(i.result + (word + 1) * register_bytes)[lane], 4);
    write.heard = heard;
    // Mostly lanes that send to one block send at once, and now and then each by itself.
    auto& all = warp.grid->on_the_way;
    const auto same = std::find_if(
        all.begin() + std::ptrdiff_t(before), all.end(), [&](const AsynchronousWrite& other) {
          return other.to == write.to && other.mbarrier == write.mbarrier;
        });
    if (alone || same == all.end()) {
      all.push_back(std::move(write));
    } else {
      same->offsets.push_back(write.offsets[0]);
      same->bytes.insert(same->bytes.end(), write.bytes.begin(), write.bytes.end());
    }
  });
}

/// cp.async.bulk: to, from, bytes, and the mbarrier.
void copy_asynchronously(Warp& warp, const Instruction& i, uint32_t lanes) {
  const auto operand = [&](uint32_t number) {
    return warp.slot<uint32_t>(i.result + number * register_bytes);
  };
  const HeardPtr heard = warp.grid->told_by(warp, lanes);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const uint32_t bytes = operand(2)[lane];
    if (bytes == 0 || bytes % 16 != 0)
      lane_error(warp, i, lane, fmt::format("a copy of {} bytes, wanted a multiple of 16", bytes));
    AsynchronousWrite write =
        write_of(warp, i, lane, operand(0)[lane], operand(3)[lane], bytes, 16);
    const SharedPlace from = shared_place(warp, i, lane, operand(1)[lane], bytes, 16);
    if (from.block != warp.block)
      lane_error(warp, i, lane, "a copy from the shared memory of another block");
    Allocation& shared = from.block->shared;
    for (uint64_t at = 0; at < bytes; ++at) {
      if (shared.valid[from.offset + at] == 0)
        lane_error(warp, i, lane,
                   fmt::format("a copy of byte {} of shared memory, which was never written",
                               from.offset + at));
    }
    warp.grid->on_copied(warp, lane, shared, from.offset, bytes, write.pc);
    std::memcpy(write.bytes.data(), reinterpret_cast<const std::byte*>(shared.begin + from.offset),
                bytes);
    write.from = from.block;
    write.source = from.offset;
    write.heard = heard;
    warp.grid->on_the_way.push_back(std::move(write));
  });
}

void fence_proxy(Warp& warp, const Instruction&, uint32_t lanes) {
  each_lane_in_order(lanes, [&](uint32_t lane) {
    warp.block->fenced[warp.thread(lane)] = warp.clock[lane];
    warp.clock[lane] = ++warp.block->counter;
  });
}

using Result = PtxInstruction::Result;

constexpr PtxGroup of_address[] = {{'l'}, {'l'}};
constexpr PtxGroup of_shared_mapping[] = {{'r'}, {'r'}, {'r'}};
constexpr PtxGroup of_words[] = {{'r', 4, true}, {'r', 1, false, true}};
constexpr PtxGroup of_two_words[] = {{'r', 2, true}, {'r', 1, false, true}};
constexpr PtxGroup of_count[] = {{'r', 1, false, true}, {'r'}};
constexpr PtxGroup of_wait[] = {{'r'}, {'r', 1, false, true}, {'r'}};
constexpr PtxGroup of_word_store[] = {{'r', 1, false, true}, {'r'}, {'r', 1, false, true}};
constexpr PtxGroup of_pair_store[] = {{'r', 1, false, true}, {'r', 2, true}, {'r', 1, false, true}};
constexpr PtxGroup of_quad_store[] = {{'r', 1, false, true}, {'r', 4, true}, {'r', 1, false, true}};
constexpr PtxGroup of_two_words_store[] = {{'r', 1, false, true}, {'r', 2, true}};
constexpr PtxGroup of_words_store[] = {{'r', 1, false, true}, {'r', 4, true}};
constexpr PtxGroup of_copy[] = {
    {'r', 1, false, true}, {'r', 1, false, true}, {'r'}, {'r', 1, false, true}};

constexpr PtxInstruction counted_table[] = {
    {"cvta.to.shared.u64", of_address, address_of_shared},
    {"mapa.shared::cluster.u32", of_shared_mapping, map_shared_address},
    {"ld.shared.v2.u32", of_two_words, load_words<2>},
    {"ld.shared.v4.u32", of_words, load_words<4>},
    {"st.shared.v2.u32", of_two_words_store, store_words<2>, Control::plain, true, Result::none},
    {"st.shared.v4.u32", of_words_store, store_words<4>, Control::plain, true, Result::none},
    {"mbarrier.init.shared::cta.b64", of_count, initialise, Control::plain, true, Result::none},
    {"fence.mbarrier_init.release.cluster", {}, fence_initialisation, Control::plain, true},
    {"mbarrier.arrive.expect_tx.shared::cta.b64", of_count, expect, Control::plain, true,
     Result::ignored},
    {"mbarrier.try_wait.parity.shared::cta.b64", of_wait, try_wait, Control::poll_mbarrier, true,
     Result::predicate},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32", of_word_store,
     store_asynchronously<1>, Control::plain, true, Result::none},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32", of_pair_store,
     store_asynchronously<2>, Control::plain, true, Result::none},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32", of_quad_store,
     store_asynchronously<4>, Control::plain, true, Result::none},
    {"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", of_copy,
     copy_asynchronously, Control::plain, true, Result::none},
    {"fence.proxy.async.shared::cta", {}, fence_proxy, Control::plain, true},
};

}  // namespace

std::span<const PtxInstruction> asynchronous_instructions() { return counted_table; }

void Grid::deliver() {
  const uint32_t at = draw.below(uint32_t(on_the_way.size()));
  const AsynchronousWrite write = std::move(on_the_way[at]);
  on_the_way[at] = std::move(on_the_way.back());
  on_the_way.pop_back();
  Block& to = *write.to;
  auto* begin = reinterpret_cast<std::byte*>(to.shared.begin);
  if (write.from != nullptr &&
      std::memcmp(reinterpret_cast<const std::byte*>(write.from->shared.begin) + write.source,
                  write.bytes.data(), write.bytes.size()) != 0)
    fail(*write.warp, write.lane, write.pc,
         "what an asynchronous copy reads was overwritten before it was read");
  Mbarrier& mbarrier = to.mbarriers.at(write.mbarrier);
  ++mbarrier.writes;
  on_asynchronous_write(write, mbarrier.writer, mbarrier.writes);
  const size_t part = write.bytes.size() / write.offsets.size();
  for (size_t i = 0; i < write.offsets.size(); ++i) {
    std::memcpy(begin + write.offsets[i], write.bytes.data() + i * part, part);
    std::memset(to.shared.valid.get() + write.offsets[i], 1, part);
  }
  mbarrier.bytes -= int64_t(write.bytes.size());
  mbarrier.came += int64_t(write.bytes.size());
  if (mbarrier.bytes < -most_pending_bytes)
    fail(*write.warp, write.lane, write.pc,
         fmt::format("an mbarrier counts {} bytes that it does not expect", -mbarrier.bytes));
  mbarrier.gathered.insert(write.heard);
  end_phase(*this, to, write.mbarrier, mbarrier);
}

void Grid::check_mbarriers(const Block& block, const Warp& warp, uint32_t lane, uint32_t pc) const {
  for (const AsynchronousWrite& write : on_the_way) {
    if (write.to == &block || write.from == &block)
      fail(warp, lane, pc,
           fmt::format("the block is done while an asynchronous access to its shared memory, begun "
                       "by {} in line {}, is on its way",
                       thread_name(write.thread), program.lines[write.pc]));
  }
  for (const auto& [offset, mbarrier] : block.mbarriers) {
    if (mbarrier.came != 0)
      fail(warp, lane, pc,
           fmt::format("the block is done, and the mbarrier at byte {} of its shared memory has "
                       "counted {} bytes of a phase that did not end",
                       offset, mbarrier.came));
  }
}

}  // namespace graphc::core::cuda_emulator

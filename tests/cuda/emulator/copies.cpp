// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that the copying thread waits for (PTX ISA, "cp.async",
// "cp.async.commit_group", "cp.async.wait_group").
//
// A copy writes at any time between the instruction that begins it and the end of the wait for its
// group. So it counts as two writes of its thread, one at either end; in between nobody may read
// the bytes, which count as never written, nor write them. What it reads must not change meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda/emulator/access.h"
#include "tests/cuda/emulator/asynchronous.h"
#include "tests/cuda/emulator/lanes.h"

namespace graphc::core::cuda_emulator {
namespace {

constexpr uint32_t word_bytes = 4;

LaneCopies& copies_of(Warp& warp, uint32_t lane) {
  if (!warp.copies) warp.copies = std::make_unique<std::array<LaneCopies, lanes_of_warp>>();
  return (*warp.copies)[lane];
}

/// The lane writes what a copy writes: as if at this clock.
void note_write(Warp& warp, uint32_t lane, const Copy& copy, uint32_t bytes, uint32_t pc) {
  for (uint32_t at = 0; at < bytes; at += word_bytes)
    warp.grid->on_write(warp, lane, warp.block->shared, copy.to + at, word_bytes, pc, false);
}

/// Reads so many bytes, by accesses that are as wide as their number allows.
template <typename T>
void read_source(Warp& warp, const Instruction& i, uint32_t lane, Copy& copy) {
  for (uint32_t at = 0; at < copy.read; at += sizeof(T)) {
    const T value = read_value<T>(warp, i, lane, copy.from + at);
    std::memcpy(&copy.bytes[at], &value, sizeof(T));
  }
}

/// An address of shared memory, one of memory, and how many of the bytes are read; the others
/// become zeros.
template <uint32_t bytes>
void begin_copy(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t* to = warp.slot<uint32_t>(i.result);
  const uint64_t* from = warp.slot<uint64_t>(i.b);
  const uint32_t* read = warp.slot<uint32_t>(i.c);
  each_lane_in_order(lanes, [&](uint32_t lane) {
    Copy copy{to[lane],         from[lane], read[lane], bytes, {}, copies_of(warp, lane).groups,
              place_of(warp, i)};
    if (uint64_t{copy.to} + bytes > warp.block->shared.size)
      lane_error(warp, i, lane,
                 fmt::format("a copy of {} bytes to byte {:#x} of shared memory, which has {}",
                             bytes, copy.to, warp.block->shared.size));
    if (copy.to % bytes != 0 || copy.from % bytes != 0)
      lane_error(warp, i, lane,
                 fmt::format("a copy of {} bytes from {:#x} to byte {} of shared memory, wanted "
                             "multiples of {}",
                             bytes, copy.from, copy.to, bytes));
    if (copy.read > bytes)
      lane_error(warp, i, lane, fmt::format("a copy of {} bytes that reads {}", bytes, copy.read));
    if (copy.read % 4 == 0)
      read_source<uint32_t>(warp, i, lane, copy);
    else if (copy.read % 2 == 0)
      read_source<uint16_t>(warp, i, lane, copy);
    else
      read_source<uint8_t>(warp, i, lane, copy);
    note_write(warp, lane, copy, bytes, copy.pc);
    std::memset(warp.block->shared.valid.get() + copy.to, 0, bytes);
    copies_of(warp, lane).on_the_way.push_back(copy);
  });
}

void end_group(Warp& warp, const Instruction&, uint32_t lanes) {
  each_lane_in_order(lanes, [&](uint32_t lane) { ++copies_of(warp, lane).groups; });
}

void finish(Warp& warp, const Instruction& i, uint32_t lane, const Copy& copy) {
  Allocation& shared = warp.block->shared;
  if (copy.read > 0 &&
      std::memcmp(reinterpret_cast<const std::byte*>(copy.from), copy.bytes.data(), copy.read) != 0)
    lane_error(warp, i, lane, "what an asynchronous copy reads was overwritten before it was read");
  for (uint32_t at = 0; at < copy.size; ++at) {
    if (shared.valid[copy.to + at] != 0)
      lane_error(warp, i, lane,
                 fmt::format("byte {} of shared memory was written before the asynchronous copy "
                             "there was waited for",
                             copy.to + at));
  }
  note_write(warp, lane, copy, copy.size, copy.pc);
  std::memcpy(reinterpret_cast<std::byte*>(shared.begin + copy.to), copy.bytes.data(), copy.size);
  std::memset(shared.valid.get() + copy.to, 1, copy.size);
}

/// Waits until at most the last `pending` groups are on their way.
template <uint64_t pending>
void wait_for_groups(Warp& warp, const Instruction& i, uint32_t lanes) {
  each_lane_in_order(lanes, [&](uint32_t lane) {
    LaneCopies& copies = copies_of(warp, lane);
    const auto is_waited_for = [&](const Copy& copy) {
      return copy.group + pending < copies.groups;
    };
    for (const Copy& copy : copies.on_the_way) {
      if (is_waited_for(copy)) finish(warp, i, lane, copy);
    }
    std::erase_if(copies.on_the_way, is_waited_for);
  });
}

constexpr PtxGroup of_target{'r', 1, false, true}, of_source{'l', 1, false, true};
constexpr PtxGroup of_4[] = {of_target, of_source, {'r', 0, false, false, "4"}, {'r'}};
constexpr PtxGroup of_8[] = {of_target, of_source, {'r', 0, false, false, "8"}, {'r'}};
constexpr PtxGroup of_16[] = {of_target, of_source, {'r', 0, false, false, "16"}, {'r'}};

constexpr std::string_view literal_numbers = "0123";
template <int pending>
constexpr PtxGroup of_pending[] = {{'r', 0, false, false, literal_numbers.substr(pending, 1)}};

constexpr PtxInstruction copy_table[] = {
    {"cp.async.ca.shared.global", of_4, begin_copy<4>, Control::plain, true,
     PtxInstruction::Result::none},
    {"cp.async.ca.shared.global", of_8, begin_copy<8>, Control::plain, true,
     PtxInstruction::Result::none},
    {"cp.async.cg.shared.global", of_16, begin_copy<16>, Control::plain, true,
     PtxInstruction::Result::none},
    {"cp.async.commit_group", {}, end_group, Control::plain, true},
    {"cp.async.wait_group", of_pending<0>, wait_for_groups<0>, Control::plain, true,
     PtxInstruction::Result::none},
    {"cp.async.wait_group", of_pending<1>, wait_for_groups<1>, Control::plain, true,
     PtxInstruction::Result::none},
    {"cp.async.wait_group", of_pending<2>, wait_for_groups<2>, Control::plain, true,
     PtxInstruction::Result::none},
    {"cp.async.wait_group", of_pending<3>, wait_for_groups<3>, Control::plain, true,
     PtxInstruction::Result::none},
};

}  // namespace

std::span<const PtxInstruction> copy_instructions() { return copy_table; }

const Copy* Block::copy_to(uint64_t offset) const {
  for (const auto& warp : warps) {
    if (!warp->copies) continue;
    for (const LaneCopies& lane : *warp->copies) {
      const auto found = std::ranges::find_if(lane.on_the_way, [&](const Copy& copy) {
        return offset >= copy.to && offset < copy.to + copy.size;
      });
      if (found != lane.on_the_way.end()) return &*found;
    }
  }
  return nullptr;
}

void Grid::check_copies(const Warp& warp, uint32_t lanes, uint32_t pc) const {
  if (!warp.copies) return;
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const LaneCopies& copies = (*warp.copies)[lane];
    if (!copies.on_the_way.empty())
      fail(warp, lane, pc,
           fmt::format("the thread is done while an asynchronous copy that it began in line {} is "
                       "on its way",
                       program.lines[copies.on_the_way.front().pc]));
  });
}

}  // namespace graphc::core::cuda_emulator

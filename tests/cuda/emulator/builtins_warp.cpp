// SPDX-License-Identifier: Apache-2.0
// What threads do together. Here `lanes` are all that a collective's mask names.
#include <fmt/format.h>

#include "tests/cuda/emulator/builtins.h"
#include "tests/cuda/emulator/lanes.h"

namespace graphc::core::cuda_emulator {
namespace {

enum class From { lane, exclusive, down, up };

template <From from>
uint32_t source_of(uint32_t lane, int32_t operand) {
  const uint32_t given = uint32_t(operand);
  switch (from) {
    case From::lane:
      return given & 31;
    case From::exclusive:
      return (lane ^ given) < lanes_of_warp ? lane ^ given : lane;
    case From::down:
      return given < lanes_of_warp && lane + given < lanes_of_warp ? lane + given : lane;
    case From::up:
      return given <= lane ? lane - given : lane;
  }
  return lane;
}

/// a: the mask, b: the value, c: where from.
template <typename T, From from>
void shuffle(Warp& warp, const Instruction& i, uint32_t lanes) {
  T given[lanes_of_warp] = {};
  const T* value = warp.slot<T>(i.b);
  const int32_t* operand = warp.slot<int32_t>(i.c);
  T* result = warp.slot<T>(i.result);
  each_lane(lanes, [&](uint32_t lane) { given[lane] = value[lane]; });
  each_lane_in_order(lanes, [&](uint32_t lane) {
    const uint32_t source = source_of<from>(lane, operand[lane]);
    if ((lanes >> source & 1) == 0)
      lane_error(warp, i, lane,
                 fmt::format("a shuffle from lane {}, which the mask {:#x} lacks", source, lanes));
    result[lane] = given[source];
  });
}

uint32_t lanes_where(Warp& warp, uint32_t slot, uint32_t lanes) {
  const int32_t* value = warp.slot<int32_t>(slot);
  uint32_t result = 0;
  each_lane_in_order(lanes, [&](uint32_t lane) { result |= value[lane] != 0 ? 1u << lane : 0u; });
  return result;
}

enum class Vote { ballot, any, all };

template <Vote vote>
void vote_of(Warp& warp, const Instruction& i, uint32_t lanes) {
  const uint32_t found = lanes_where(warp, i.b, lanes);
  const uint32_t value = vote == Vote::ballot ? found
                         : vote == Vote::any  ? uint32_t(found != 0)
                                              : uint32_t(found == lanes);
  uint32_t* result = warp.slot<uint32_t>(i.result);
  each_lane(lanes, [&](uint32_t lane) { result[lane] = value; });
}

void synchronize_warp(Warp& warp, const Instruction&, uint32_t lanes) {
  warp.grid->synchronize_lanes(warp, lanes);
}

/// For each warp of a block, once all are there.
void any_of_block(Warp& warp, const Instruction& i, uint32_t lanes) {
  int32_t* result = warp.slot<int32_t>(i.result);
  const int32_t value = warp.block->any;
  each_lane(lanes, [&](uint32_t lane) { result[lane] = value; });
}

void trap(Warp& warp, const Instruction& i, uint32_t lanes) {
  lane_error(warp, i, uint32_t(std::countr_zero(lanes)), "__trap()");
}

}  // namespace

#define GRAPHC_SHUFFLES(name, from)                                     \
  {name, "i:uii", shuffle<uint32_t, from>, Control::collective, 1},     \
      {name, "u:uui", shuffle<uint32_t, from>, Control::collective, 1}, \
      {name, "f:ufi", shuffle<uint32_t, from>, Control::collective, 1}, \
      {name, "l:uli", shuffle<uint64_t, from>, Control::collective, 1}, \
      {name, "U:uUi", shuffle<uint64_t, from>, Control::collective, 1}, \
      {name, "d:udi", shuffle<uint64_t, from>, Control::collective, 1}

std::span<const Builtin> warp_builtins() {
  static const Builtin table[] = {
      GRAPHC_SHUFFLES("__shfl_sync", From::lane),
      GRAPHC_SHUFFLES("__shfl_xor_sync", From::exclusive),
      GRAPHC_SHUFFLES("__shfl_down_sync", From::down),
      GRAPHC_SHUFFLES("__shfl_up_sync", From::up),
      {"__ballot_sync", "u:ui", vote_of<Vote::ballot>, Control::collective},
      {"__any_sync", "i:ui", vote_of<Vote::any>, Control::collective},
      {"__all_sync", "i:ui", vote_of<Vote::all>, Control::collective},
      {"__syncwarp", "v:u", synchronize_warp, Control::collective},
      {"__syncthreads", "v:", nullptr, Control::barrier},
      {"__syncthreads_or", "i:i", any_of_block, Control::barrier},
      {"__trap", "v:", trap},
  };
  return table;
}

#undef GRAPHC_SHUFFLES

}  // namespace graphc::core::cuda_emulator

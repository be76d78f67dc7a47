// SPDX-License-Identifier: Apache-2.0
// The kernels that graphc-gpu-probe times, as CUDA text of the kind that codegen/cuda writes.
#pragma once

#include <string>
#include <string_view>

namespace graphc::core::probe {

/// Threads of a block of every kernel here.
inline constexpr int kThreads = 256;

/// read_all(values, sums, count): each thread adds up 8-byte words of memory, one after the other
/// threads', and keeps the sum.
std::string read_text();
/// copy_all(from, to, count): 8-byte words.
std::string copy_text();
/// read_again(values, sums, count, rounds): every block reads the same words `rounds` times, past
/// the first-level cache.
std::string ingest_text();

/// What a turn of multiply_adds() does, in each thread.
inline constexpr int kMultiplyAdds = 64;
/// multiply_adds(sums, turns): independent f32 multiply-adds in registers.
std::string multiply_add_text();

/// A product of tiles that a warp has as one instruction.
struct TileProduct {
  std::string_view name;         ///< of the kernel: "tiles_bf16"
  std::string_view instruction;  ///< mma.sync's, without the leading "mma.sync.aligned."
  std::string_view types;        ///< in words
  int k = 0;                     ///< of the tile 16 x 8 x k
  int left_registers = 4, right_registers = 2;
};
inline constexpr TileProduct kTileProducts[] = {
    {"tiles_bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", "bf16, sums in f32", 16, 4, 2},
    {"tiles_fp16", "m16n8k16.row.col.f32.f16.f16.f32", "fp16, sums in f32", 16, 4, 2},
    {"tiles_tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", "TF32, sums in f32", 8, 4, 2},
};
/// Tiles of sums that a warp keeps at a time, and so products of a turn.
inline constexpr int kTilesOfWarp = 8;
/// NAME(sums, turns): independent products of tiles in each warp.
std::string tile_product_text(const TileProduct& product);

/// meet_often(arrived, meetings): all blocks wait for each other so often, by a counter to which
/// each adds one and that all poll, as the loops of codegen/cuda do.
std::string counter_meeting_text();
/// meet_often(flags, meetings): the same with a word for each block, which all others poll.
std::string flag_meeting_text();

/// nothing(): ends at once.
std::string empty_text();

}  // namespace graphc::core::probe

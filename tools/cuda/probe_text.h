// SPDX-License-Identifier: Apache-2.0
// The kernels timed by graphc-gpu-probe, as CUDA text in the style of codegen/targets/cuda.
#pragma once

#include <string>
#include <string_view>

namespace graphc::core::probe {

/// Threads per block of every kernel here.
inline constexpr int kThreads = 256;

/// read_all(values, sums, count): each thread sums 8-byte words of memory, interleaved with the
/// other threads, and stores the sum.
std::string read_text();
/// copy_all(from, to, count): 8-byte words.
std::string copy_text();
/// read_again(values, sums, count, rounds): every block reads the same words `rounds` times,
/// bypassing L1.
std::string ingest_text();

/// The number of multiply-adds per iteration of multiply_adds(), in each thread.
inline constexpr int kMultiplyAdds = 64;
/// multiply_adds(sums, turns): independent f32 multiply-adds in registers.
std::string multiply_add_text();

/// A tile product that a warp executes as one instruction.
struct TileProduct {
  std::string_view name;         ///< kernel name: "tiles_bf16"
  std::string_view instruction;  ///< mma.sync's, without the leading "mma.sync.aligned."
  std::string_view types;        ///< element types, for people
  int k = 0;                     ///< of the tile 16 x 8 x k
  int left_registers = 4, right_registers = 2;
};
inline constexpr TileProduct kTileProducts[] = {
    {"tiles_bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", "bf16, sums in f32", 16, 4, 2},
    {"tiles_fp16", "m16n8k16.row.col.f32.f16.f16.f32", "fp16, sums in f32", 16, 4, 2},
    {"tiles_tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", "TF32, sums in f32", 8, 4, 2},
};
/// Accumulator tiles per warp, and so products per iteration.
inline constexpr int kTilesOfWarp = 8;
/// NAME(sums, turns): independent tile products in each warp.
std::string tile_product_text(const TileProduct& product);

/// meet_often(arrived, barriers): a barrier over all blocks, repeated, with one counter that each
/// block increments and all poll, as in the loops of codegen/targets/cuda.
std::string counter_barrier_text();
/// meet_often(flags, barriers): the same with one word per block, which all others poll.
std::string flag_barrier_text();

/// nothing(): an empty kernel.
std::string empty_text();

}  // namespace graphc::core::probe

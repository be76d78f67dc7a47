// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/machine.h"

#include <algorithm>

#include "codegen/lower/collectives.h"
#include "ir/error.h"
#include "runtime/caches.h"

namespace graphc::core::cpu {
namespace {

/// The fastest values measured. With bf16, two row tiles pass along all panels, so that their
/// bodies read and write sequential memory, which a processor prefetches by itself. The panels of
/// numbers in parts are two and three times as large and stay in the cache for two pairs. For dot
/// products no other value has been measured yet.
int turns_of(const CpuFeatures& cpu, Factors factors) {
  if (cpu.matrix_tiles == MatrixTiles::dot_products) return 4;
  return factors == Factors::bf16 ? 1 : 2;
}

/// A block of columns has four vectors, divided among the parts, where they fit, and of a product
/// in 16 registers two; the tile has as many rows as the accumulators allow: 24 of 32 registers, 12
/// of 16, and 10 where a product is multiplied into a register of its own before it is added (SSE).
/// With matrix tiles, a block has two tiles of columns, or one for each part, and the tile has two
/// row tiles, or two for each turn.
TileShape vector_tile(const Machine& machine, const NestProgram& program) {
  TileShape shape;
  shape.lanes = machine.lanes;
  int parts = 1;
  for (const NestProduct& product : program.products) parts = std::max(parts, product.parts);
  const bool many = machine.registers >= 32;
  shape.accumulators = many ? 24 : machine.lanes > 4 ? 12 : 10;
  const int together = many || program.kind != NestKind::tiles ? 4 : 2;
  shape.vectors = std::max(1, together / parts);
  const bool rounds = std::ranges::any_of(program.products, [](const NestProduct& product) {
    return product.factors != Factors::as_stored;
  });
  if (machine.matrix_tile.rows > 0 && rounds) {
    // Two tiles of columns are multiplied at a time.
    const int columns = std::max(1, machine.matrix_tile.columns / machine.lanes);
    shape.matrix_tiles = true;
    shape.vectors = std::max(1, 2 / parts) * columns;
    shape.rows = 2 * machine.matrix_tile.rows * (parts > 2 ? machine.matrix_tile.turns : 1);
  } else if (program.kind == NestKind::tiles) {
    shape.rows = std::clamp(shape.accumulators / (shape.vectors * std::min(parts, 8)), 1, 8);
  } else if (program.kind == NestKind::row_wise) {
    shape.vectors = 1;
  }
  return shape;
}

Error no_matrix_tiles(const CpuFeatures& cpu, Factors factors) {
  const bool host = cpu.name == "native";
  const std::string refused = host ? matrix_tiles_refused() : "";
  if (!refused.empty())
    return resource_error(
        "precision '{}' needs matrix tiles, which the processor '{}' has: Linux does not let this "
        "process use them: {}",
        name_of(factors), cpu.llvm_name, refused);
  return resource_error(
      "precision '{}' needs a processor with matrix tiles (AMX, with bf16){}: found '{}', on which "
      "such products would be no faster than those of f32",
      name_of(factors),
      factors == Factors::bf16 ? " or fast dot products (AVX-512 BF16, of AMD)" : "",
      host ? cpu.llvm_name : cpu.name);
}

}  // namespace

Machine machine_of(const CpuFeatures& cpu, int threads, Factors factors) {
  Machine machine;
  machine.target = "the CPU target";
  machine.lanes = cpu.vector_lanes_f32;
  machine.registers = cpu.vector_registers;
  machine.tile_of = vector_tile;
  machine.workers = threads;
  machine.kept_bytes = second_level_cache();
  // A streaming store must cover a whole line; otherwise the line is read and written for each
  // half.
  if (cpu.vector_lanes_f32 == 16) machine.uncached_bytes = uncached_bytes();
  machine.keeps_functions = true;
  machine.lower_external = lower_collective;
  if (factors == Factors::as_stored) return machine;
  // A dot product does the work of two multiply-adds, so three or six of them are slower.
  const bool slower = cpu.matrix_tiles == MatrixTiles::dot_products && bf16_parts(factors) > 1;
  if (cpu.matrix_tiles == MatrixTiles::none || slower) throw no_matrix_tiles(cpu, factors);
  machine.matrix_tile = {kTileRows, kTileColumns, kTileK, turns_of(cpu, factors)};
  machine.products = {{.k_group = 2, .factors = factors, .matrix_tiles = true}};
  if (factors != Factors::bf16) return machine;
  // A value stored as bf16 needs no rounding as a factor.
  for (const auto& [left, right] : {std::pair{DType::bf16, DType::f32},
                                    {DType::f32, DType::bf16},
                                    {DType::bf16, DType::bf16}}) {
    machine.products.push_back(machine.products[0]);
    machine.products.back().left = left;
    machine.products.back().right = right;
  }
  return machine;
}

int64_t uncached_bytes() {
  // A larger cache is that of a server, where other programs use most of it.
  constexpr int64_t kOwn = 64 << 20;
  static const int64_t said = cache_sizes().shared;
  return std::max(4 * second_level_cache(), said <= kOwn ? said / 2 : 0);
}

int64_t panel_group_bytes() { return second_level_cache() / 4; }

bool is_beside_products(const TileShape& tile, const CpuFeatures& cpu) {
  return tile.matrix_tiles && cpu.matrix_tiles != MatrixTiles::dot_products;
}

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/machine.h"

#include <algorithm>

#include "ir/error.h"
#include "runtime/caches.h"

namespace graphc::core::cpu {
namespace {

/// What was fastest. Of bf16 two tiles of rows go along all panels, so that what their bodies read
/// and write is gone through along memory, which a processor fetches ahead by itself; the panels of
/// numbers in parts are twice and three times as large and stay for two pairs. Of dot
/// products nothing else has been measured yet.
int turns_of(const CpuFeatures& cpu, Factors factors) {
  if (cpu.matrix_tiles == MatrixTiles::dot_products) return 4;
  return factors == Factors::bf16 ? 1 : 2;
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
  machine.workers = threads;
  machine.kept_bytes = second_level_cache();
  // A store past the caches is a line, or it is read and written for each of its halves.
  if (cpu.vector_lanes_f32 == 16) machine.uncached_bytes = uncached_bytes();
  machine.keeps_functions = true;
  if (factors == Factors::as_stored) return machine;
  // A dot product does twice what a multiply-add does: three or six of them are slower.
  const bool slower = cpu.matrix_tiles == MatrixTiles::dot_products && bf16_parts(factors) > 1;
  if (cpu.matrix_tiles == MatrixTiles::none || slower) throw no_matrix_tiles(cpu, factors);
  machine.matrix_tile = {kTileRows, kTileColumns, kTileTerms, turns_of(cpu, factors)};
  machine.products = {{.k_group = 2, .factors = factors, .matrix_tiles = true}};
  if (factors != Factors::bf16) return machine;
  // What is stored as bf16 is its own factor.
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
  // A larger one is a server's, of which other programs have most.
  constexpr int64_t kOwn = 64 << 20;
  static const int64_t said = cache_sizes().shared;
  return std::max(4 * second_level_cache(), said <= kOwn ? said / 2 : 0);
}

int64_t panel_group_bytes() { return second_level_cache() / 4; }

bool is_beside_products(const TileShape& tile, const CpuFeatures& cpu) {
  return tile.matrix_tiles && cpu.matrix_tiles != MatrixTiles::dot_products;
}

}  // namespace graphc::core::cpu

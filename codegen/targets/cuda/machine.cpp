// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/machine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#include "codegen/lower/collectives.h"
#include "codegen/targets/cuda/lower_layers.h"
#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// The first architecture whose tensor cores multiply tf32 and bf16.
constexpr int kFirstWithTensorCores = 80;

int number_of(std::string_view architecture) {
  const size_t begin = std::min(architecture.find_first_of("0123456789"), architecture.size());
  return std::atoi(std::string(architecture.substr(begin)).c_str());
}

bool lower_external(LowerContext& context, const Node& node, ViewMap& views,
                    const ViewMap& wanted) {
  return lower_collective(context, node, views, wanted) ||
         lower_layer(context, node, views, wanted);
}

/// Threads of a block read neighbouring columns: packed matrices have blocks of a warp's width for
/// each of up to four parts.
TileShape gpu_tile(const Machine& machine, const NestProgram& program) {
  TileShape shape;
  shape.lanes = machine.lanes;
  int parts = 1;
  for (const NestProduct& product : program.products) parts = std::max(parts, product.parts);
  shape.vectors = program.kind == NestKind::row_wise ? 1 : std::max(1, 4 / parts);
  shape.rows = 1;  // per thread: product_tile() has the tiles of blocks
  return shape;
}

}  // namespace

Machine gpu_machine(Precision precision, std::string_view architecture) {
  GRAPHC_CHECK(std::ranges::find(kPrecisions, precision) != kPrecisions.end(),
               "no precision '{}' on GPUs", name_of(precision));
  const Factors factors = factors_of(precision);
  const bool tensor_cores = number_of(architecture) >= kFirstWithTensorCores;
  if (factors != Factors::as_stored && !tensor_cores)
    throw resource_error("precision '{}' needs tensor cores of sm_80 or newer: found {}",
                         name_of(precision), architecture);
  Machine machine;
  machine.target = "the CUDA target";
  machine.lanes = 32;
  machine.tile_of = gpu_tile;
  machine.workers = 1;
  // Launches of a few rows at a time would leave most of the GPU idle.
  machine.block_bytes = 0;
  machine.lower_external = lower_external;
  // What an exchange between GPUs moves in the 10 us that it takes to begin.
  machine.bucket_bytes = 4 << 20;
  machine.reorders_phases = true;
  machine.leaves_out_unneeded = false;
  machine.packs_matrices = false;
  machine.packs_factors = true;
  machine.pitch = 16;  // cp.async copies as much, and cuBLASLt's fast kernels want it
  machine.products = {
      {DType::f32, DType::f32, DType::f32, 1, factors},
      {DType::f64, DType::f64, DType::f64, 1},
      {DType::bf16, DType::bf16, DType::f32, 1, tensor_cores ? Factors::bf16 : Factors::as_stored}};
  if (factors != Factors::bf16) return machine;
  // A value stored as bf16 needs no rounding as a factor.
  machine.products.push_back({DType::bf16, DType::f32, DType::f32, 1, factors});
  machine.products.push_back({DType::f32, DType::bf16, DType::f32, 1, factors});
  return machine;
}

std::optional<TensorCost> tensor_cost(Factors factors) {
  switch (factors) {
    case Factors::tf32:
      return TensorCost{};
    case Factors::split_tf32:
      return TensorCost{.products = 3};
    case Factors::bf16:
    case Factors::f16:
      return TensorCost{.is_half = true};
    case Factors::as_stored:
    case Factors::two_bf16:
    case Factors::three_bf16:
      break;
  }
  return std::nullopt;
}

int64_t Gpu::clusters_at_a_time(int64_t blocks) const {
  const int known = clusters[size_t(std::countr_zero(std::bit_ceil(uint64_t(blocks))))];
  const int64_t most = multiprocessors / blocks;
  return std::max<int64_t>(known == 0 ? most : std::min<int64_t>(known, most), 1);
}

Gpu gpu_of(std::string_view architecture) {
  Gpu gpu;
  if (!architecture.empty()) gpu.capability = number_of(architecture);
  const auto with = [&](int multiprocessors, int64_t shared_kib) {
    gpu.multiprocessors = multiprocessors;
    gpu.clusters = {};
    gpu.shared_bytes = shared_kib << 10;
    return gpu;
  };
  const auto is = [&](std::string_view name) { return architecture.starts_with(name); };
  if (architecture.empty() || is("sm_90")) return gpu;
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": shared memory
  // of a block. Multiprocessors: A100, A10, L40, B200.
  if (is("sm_80")) return with(108, 163);
  if (is("sm_10")) return with(148, 227);
  gpu.memory_bytes = 24'000'000'000;
  if (is("sm_86")) return with(72, 99);
  if (is("sm_89")) return with(142, 99);
  gpu.memory_bytes = 16'000'000'000;
  // The minimum over all GPUs that the text is for.
  return with(40, 64);
}

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// What may be chosen about a compilation for GPUs, and for no other target. Needs nothing of CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace graphc::core {
namespace cuda {

/// Where the blocks of a loop's kernel have its matrices, and who meets whom
/// (codegen/targets/cuda/loops/loop_placement.h).
enum class Placement : uint8_t { streamed, grid, cluster, block };
/// The words of a command line: any placement, which is none in the options, and then each.
inline constexpr std::array<std::string_view, 5> kPlacementWords{"auto", "streamed", "grid",
                                                                 "cluster", "block"};
std::string_view name_of(std::optional<Placement> placement);
/// Throws ErrorKind::usage, naming the words, for another one.
std::optional<Placement> placement_named(std::string_view word);

/// What computes the large products: for each the faster of both, generated kernels, or cuBLASLt.
enum class Products : uint8_t { either, generated, cublaslt };
inline constexpr std::array<std::string_view, 3> kProductsWords{"auto", "generated", "cublaslt"};
std::string_view name_of(Products products);
/// Throws ErrorKind::usage, naming the words, for another one.
Products products_named(std::string_view word);

}  // namespace cuda

/// The part of CompileOptions that is of the target `cuda`.
struct CudaOptions {
  using Placement = cuda::Placement;
  using Products = cuda::Products;

  /// How loops are placed; nothing: each in the way that a model of the GPU, or a trial on it,
  /// finds fastest. Where a loop cannot be placed so, it is streamed.
  std::optional<Placement> placement;
  Products products = Products::either;
  /// From how many multiplications and additions on products and loops are tried in several ways.
  /// Below 16 million a launch costs more than what is computed (a microsecond at 30 TFLOP/s).
  int64_t least_tried_work = int64_t{1} << 24;
  /// Whether steps look, when they have ended, whether their results and the states that they wrote
  /// are finite, and keep the states as they were before (Executable::checks_finite()).
  bool check_finite = false;
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Options of a compilation that apply to the CUDA target only. Needs no CUDA headers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace graphc::core {
namespace cuda {

/// Where the blocks of a loop's kernel keep its matrices, and which blocks share barriers
/// (codegen/targets/cuda/loops/loop_placement.h); or, instead of a kernel of all steps, launches
/// for each step (launches/step_launches.h).
enum class Placement : uint8_t { streamed, grid, cluster, block, rows, launches };
/// The spellings on a command line: "auto", for which the option is empty, then each placement.
inline constexpr std::array<std::string_view, 7> kPlacementWords{
    "auto", "streamed", "grid", "cluster", "block", "rows", "launches"};
std::string_view name_of(std::optional<Placement> placement);
/// Throws ErrorKind::usage, listing the spellings, for any other one.
std::optional<Placement> placement_named(std::string_view word);

/// How large products are computed: by generated kernels, by cuBLASLt, or by the faster of the two
/// for each.
enum class Products : uint8_t { either, generated, cublaslt };
inline constexpr std::array<std::string_view, 3> kProductsWords{"auto", "generated", "cublaslt"};
std::string_view name_of(Products products);
/// Throws ErrorKind::usage, listing the spellings, for any other one.
Products products_named(std::string_view word);

}  // namespace cuda

/// The part of CompileOptions for the target `cuda`.
struct CudaOptions {
  using Placement = cuda::Placement;
  using Products = cuda::Products;

  /// The placement of loops. Empty: for each loop the one that a model of the GPU, or a trial on
  /// it, finds fastest. A loop that cannot have the placement is streamed.
  std::optional<Placement> placement;
  Products products = Products::either;
  /// The GPU, counted from 0. -1: that of the rank where there are several, otherwise the first.
  int device = -1;
  /// Minimum number of multiplications and additions from which products and loops are tried in
  /// several ways. Below 16 million a launch costs more than the computation (a microsecond at 30
  /// TFLOP/s).
  int64_t least_tried_work = int64_t{1} << 24;
  /// Whether a step checks, after it has ended, that its results and the states it wrote are
  /// finite, and keeps the states' previous values (Executable::checks_finite()).
  bool check_finite = false;
};

}  // namespace graphc::core

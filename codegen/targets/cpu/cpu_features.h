// SPDX-License-Identifier: Apache-2.0
// The CPU that kernels are generated for: the host or a named level below it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/matrix_tiles.h"

namespace graphc::core::cpu {

/// What code generation may assume about a CPU. A plain value; equal values give equal code.
struct CpuFeatures {
  std::string name;       ///< as requested: `native`, `x86-64-v3`
  std::string llvm_name;  ///< LLVM's target-cpu: `znver4`, `x86-64-v3`
  std::string features;   ///< LLVM's target-features, sorted: `+avx,+avx2,-avx512f`; may be empty
  int vector_lanes_f32 = 4;   ///< f32 elements of the widest vector: 16, 8 or 4
  int vector_registers = 16;  ///< vector registers of that width: 32 or 16
  bool has_sse41 = false;     ///< rounding and blends in one instruction
  bool has_fma = false;
  bool has_avx512 = false;       ///< F, BW, CD, DQ and VL together
  bool has_avx512_bf16 = false;  ///< the bf16 dot product
  /// Whether quotients are computed from an estimate by multiply-adds instead of by a division. A
  /// division takes few instructions but a long time, so the estimate is better unless other work
  /// can run meanwhile.
  bool divides_by_estimate = false;
  MatrixTiles matrix_tiles = MatrixTiles::none;

  int vector_bits() const { return vector_lanes_f32 * 32; }
  bool operator==(const CpuFeatures&) const = default;
};

/// The machine that this process runs on, named `native`. Detected once.
const CpuFeatures& host_cpu();

/// The names that cpu_named() accepts, widest first.
std::vector<std::string_view> cpu_names();

/// Suffix of a name that selects matrix tiles in software: "x86-64-v3+tiles".
inline constexpr std::string_view kSoftwareTiles = "+tiles";
/// Suffix of a name that selects matrix tiles by dot products: "x86-64-v4+bf16", or "native+bf16"
/// where another method is the processor's default.
inline constexpr std::string_view kDotProducts = "+bf16";

/// The CPU called `name`, with matrix tiles in software or by dot products if the name ends in
/// kSoftwareTiles or kDotProducts. Throws ErrorKind::usage if there is no such CPU, or if `host`
/// lacks an instruction set that it needs; the message names what is missing.
CpuFeatures cpu_named(std::string_view name, const CpuFeatures& host = host_cpu());

/// The CPUs of cpu_names() that `host` can run; tests iterate over them.
std::vector<CpuFeatures> cpus_of(const CpuFeatures& host = host_cpu());

}  // namespace graphc::core::cpu

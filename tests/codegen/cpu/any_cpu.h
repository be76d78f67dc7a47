// SPDX-License-Identifier: Apache-2.0
// CPUs to generate text for, whatever machine the tests run on.
#pragma once

#include <string>
#include <string_view>

#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

/// The features of a host that can run every level.
inline const std::string kEverything =
    "+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,"
    "+lzcnt,+movbe,+xsave,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl";

/// The level `name`; its code may be looked at but not run.
inline CpuFeatures any_cpu(std::string_view name) {
  CpuFeatures host;
  host.features = kEverything;
  return cpu_named(name, host);
}

/// A processor with matrix tiles; its code may be looked at but not run.
inline CpuFeatures any_cpu_with_matrix_tiles() {
  CpuFeatures cpu = any_cpu("x86-64-v4");
  cpu.name = "native";
  cpu.llvm_name = "sapphirerapids";
  cpu.features = kEverything + ",+amx-tile,+amx-bf16";
  cpu.matrix_tiles = MatrixTiles::hardware;
  return cpu;
}

/// A processor with dot products of bf16 in place of tiles; its code may be looked at but not run.
inline CpuFeatures any_cpu_with_dot_products() {
  CpuFeatures cpu = any_cpu("x86-64-v4");
  cpu.name = "native";
  cpu.llvm_name = "znver4";
  cpu.features = kEverything + ",+avx512bf16";
  cpu.has_avx512_bf16 = true;
  cpu.matrix_tiles = MatrixTiles::dot_products;
  return cpu;
}

}  // namespace graphc::core::cpu

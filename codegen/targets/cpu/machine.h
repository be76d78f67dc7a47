// SPDX-License-Identifier: Apache-2.0
// A processor as plans see it.
#pragma once

#include <array>

#include "codegen/machine.h"
#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

/// The values of CompileOptions::precision; the first one rounds nothing.
inline constexpr std::array kPrecisions{Precision::f32, Precision::bf16, Precision::bf16x3,
                                        Precision::bf16x6};

/// The machine formed by `threads` threads of this processor. Throws ErrorKind::resource for
/// factors for which the processor has no faster products.
Machine machine_of(const CpuFeatures& cpu, int threads = 1, Factors factors = Factors::as_stored);

/// Machine::uncached_bytes: the larger of four times a core's second-level cache and half of the
/// third-level cache. A third-level cache above 64 MB is mostly used by other programs and not
/// counted.
int64_t uncached_bytes();

/// NestArguments::panel_group on this machine: a quarter of a core's second-level cache.
int64_t panel_group_bytes();

/// Whether the body of a tile runs while the products of the next tile are computed
/// (codegen/targets/cpu/emit/emit_finish.h).
bool is_beside_products(const TileShape& tile, const CpuFeatures& cpu);

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
// A processor as plans see it.
#pragma once

#include <array>

#include "codegen/machine.h"
#include "codegen/targets/cpu/cpu_features.h"

namespace graphc::core::cpu {

/// The values of CompileOptions::precision; the first rounds nothing.
inline constexpr std::array kPrecisions{Precision::f32, Precision::bf16, Precision::bf16x3,
                                        Precision::bf16x6};

/// The machine that `threads` threads on this processor are. Throws ErrorKind::resource for factors
/// for which the processor has no faster products.
Machine machine_of(const CpuFeatures& cpu, int threads = 1, Factors factors = Factors::as_stored);

/// Machine::uncached_bytes: four times the second-level cache of a core, or half of the third if
/// that is more; of a third of more than 64 MB, which others use too, nothing is counted.
int64_t uncached_bytes();

/// NestArguments::panel_group here: a quarter of that cache.
int64_t panel_group_bytes();

/// Whether the bodies of a nest run beside the products of the next tile
/// (codegen/targets/cpu/emit/emit_finish.h).
bool is_beside_products(const TileShape& tile, const CpuFeatures& cpu);

}  // namespace graphc::core::cpu

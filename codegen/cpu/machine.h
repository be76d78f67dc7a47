// SPDX-License-Identifier: Apache-2.0
// A processor as plans see it.
#pragma once

#include "codegen/cpu/cpu_features.h"
#include "codegen/machine.h"

namespace graphc::cpu {

/// The machine that `threads` threads on this processor are.
Machine machine_of(const CpuFeatures& cpu, int threads = 1);

}  // namespace graphc::cpu

// SPDX-License-Identifier: Apache-2.0
// Measured peak arithmetic speed of this machine, the reference for fractions of peak.
#pragma once

#include "ir/type.h"
#include "runtime/thread_team.h"

namespace graphc::core {

/// The aggregate GFLOP/s of all threads of the team in a loop of multiply-adds on registers (two
/// operations each): for each thread the best millisecond out of about 30. For f32, the widest
/// fused multiply-add of the CPU; for bf16, its matrix tiles if available, else its dot
/// instruction, else the same as f32. Throws ErrorKind::input for another type. Readings vary with
/// the clock: take the best of several.
double measure_peak_gflops(ThreadTeam& team, DType dtype = DType::f32);

}  // namespace graphc::core

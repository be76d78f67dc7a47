// SPDX-License-Identifier: Apache-2.0
// The speed limit of this machine, measured: what fractions of peak are fractions of.
#pragma once

#include "ir/type.h"
#include "runtime/thread_team.h"

namespace graphc::core {

/// The GFLOP/s that all threads of the team together reach in a loop of nothing but multiply-adds
/// on registers (a multiply-add counts two): for each thread its best millisecond of some 30. For
/// f32 the widest fused multiply-add the CPU has; for bf16 its matrix tiles where it has them, or
/// its dot instruction, else the same as f32. Throws ErrorKind::input for another type. A single
/// reading varies with the clock: take the best of some.
double measure_peak_gflops(ThreadTeam& team, DType dtype = DType::f32);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// A GPU as lowering and planning see it (codegen/machine.h).
#pragma once

#include "codegen/machine.h"

namespace graphc::cuda {

/// The machine that plans for GPUs are made for. A launch does a whole record, and its blocks share
/// that out: one worker.
Machine gpu_machine();

}  // namespace graphc::cuda

// SPDX-License-Identifier: Apache-2.0
// Loops that a worker goes through row by row: LoopCall::rows_apart.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// The rows that all nests of the loop share out one by one, without a barrier, those of the loops
/// in it included, if some of them are matrices. 0 if there are none, or if anything else is in the
/// loop.
int64_t shared_rows(const LoopCall& loop);

/// Sets LoopCall::rows_apart of the loops whose rows no access joins, after place_barriers().
void keep_rows_apart(Plan& plan);

}  // namespace graphc::core

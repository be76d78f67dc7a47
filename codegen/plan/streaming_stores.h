// SPDX-License-Identifier: Apache-2.0
// Stores that bypass the caches: of large values that no record reads while they are cached. An
// ordinary store would first load the cache line and later evict it, in space that other data could
// use.
#pragma once

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// Marks such stores (NestOperand::streaming) in the programs of a plan whose values have their
/// places. A store qualifies if its buffer has at least Machine::uncached_bytes (a call in a loop
/// may write only one step's part of it) and neither the record itself, which would overwrite what
/// it reads, nor the loop or block around it reads that buffer, in this step or the next. Marks
/// stores of row-wise nests, and of tiles in loops: outside of loops, streaming stores of tiles
/// were measured to cost the next kernel what they gained. Elements have at least 4 bytes, so that
/// vectors are whole cache lines.
void mark_streaming_stores(Plan& plan, const Machine& machine);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// What is written past the caches: a large value that nobody reads while a cache has it. A line
// that is only written would be read first and thrown out later, by then somebody else's room.
#pragma once

#include "codegen/machine.h"
#include "codegen/plan/plan.h"

namespace graphc {

/// Marks such stores (NestOperand::past_caches) in the programs of a plan whose values have their
/// places: of nests that go along rows, and of tiles in loops, to buffers of
/// Machine::uncached_bytes and more, which neither the record itself reads, whose place it would
/// write over, nor the loop or block around it, at this step or the next. Elements have 4 bytes and
/// more, so that vectors are whole lines. What tiles outside of loops write, the kernel behind them
/// reads as slowly as they are faster.
void mark_past_caches(Plan& plan, const Machine& machine);

}  // namespace graphc

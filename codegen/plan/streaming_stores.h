// SPDX-License-Identifier: Apache-2.0
// What is written past the caches: a large value that nobody reads while a cache has it. A line
// that is only written would be read first and thrown out later, by then somebody else's room.
#pragma once

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// Marks such stores (NestOperand::streaming) in the programs of a plan whose values have their
/// places: to buffers of Machine::uncached_bytes and more, of which a call in a loop may write one
/// step's part, that neither the record itself reads, whose place it would write over, nor the loop
/// or block around it, at this step or the next. Of nests that go along rows, and of tiles in
/// loops: what other tiles write, measured, cost the kernel behind them what they gained. Elements
/// have 4 bytes and more, so that vectors are whole lines.
void mark_streaming_stores(Plan& plan, const Machine& machine);

}  // namespace graphc::core

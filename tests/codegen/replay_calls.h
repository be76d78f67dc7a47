// SPDX-License-Identifier: Apache-2.0
// What calls read and write that pack matrices or select rows of tables: parts of a replay.
#pragma once

#include "codegen/step/plan.h"
#include "tests/codegen/replay_memory.h"

namespace graphc::core::testing {

/// Packs the blocks `own`.
void replay_panels(ReplayMemory& memory, const PanelCall& call, const ReplayPlace& from,
                   const ReplayPlace& to, const Range& own);

/// The places of a table call; `table` and `distinct` of those calls that have them.
struct ReplayedTable {
  ReplayPlace indices, rows, table, distinct;
};

/// The indices or rows `own` of a call.
void replay_table(ReplayMemory& memory, const TableCall& call, const ReplayedTable& places,
                  const Range& own);

}  // namespace graphc::core::testing

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

/// The next index of axes with these extents; false after the last.
inline bool next(const std::vector<int64_t>& extents, std::vector<int64_t>& index) {
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (++index[axis] < extents[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

inline int64_t along(const std::vector<int64_t>& strides, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size() && i < index.size(); ++i) offset += strides[i] * index[i];
  return offset;
}

}  // namespace graphc::core::testing

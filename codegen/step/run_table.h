// SPDX-License-Identifier: Apache-2.0
// Rows of tables by index: what the records of family `table` do.
#pragma once

#include "codegen/step/plan.h"
#include "ir/error.h"

namespace graphc::core {

/// The addresses of a TableCall, resolved.
struct TablePlaces {
  char* table = nullptr;
  const char* indices = nullptr;
  char* rows = nullptr;
  char* distinct = nullptr;
};

/// The error of an index that is outside the table, or may not be merged, at its position.
Error index_error(const TableCall& call, int64_t index, int64_t position);

/// Does of the call what is `own` by the schedule: indices, or rows of the table. Bits do not
/// depend on how it is shared out. Throws ErrorKind::input for an index outside the table.
void run_table(const TableCall& call, const TablePlaces& places, const Range& own);

}  // namespace graphc::core

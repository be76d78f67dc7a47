// SPDX-License-Identifier: Apache-2.0
// Rows of tables by index: what the records of family `rows` do.
#pragma once

#include "codegen/plan/plan.h"

namespace graphc {

/// The addresses of a TableCall, resolved.
struct TablePlaces {
  char* table = nullptr;
  const char* indices = nullptr;
  char* rows = nullptr;
  char* distinct = nullptr;
};

/// Does of the call what is `own` by the schedule: indices, or rows of the table. Bits do not
/// depend on how it is shared out. Throws ErrorKind::input for an index outside the table.
void run_table(const TableCall& call, const TablePlaces& places, const Range& own);

}  // namespace graphc

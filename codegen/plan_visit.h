// SPDX-License-Identifier: Apache-2.0
// Going through the addresses of a plan's records.
#pragma once

#include <functional>

#include "codegen/plan.h"

namespace graphc {

/// Calls `visit` for every address a record touches, those of first iterations included.
void visit_addresses(const Record& record, const std::function<void(const Address&)>& visit);
/// The same, changing them.
void change_addresses(Record& record, const std::function<void(Address&)>& change);

/// Calls `visit` for every phase, in order: its record, and the id of the loop around it or -1.
void visit_phases(const std::vector<Record>& records,
                  const std::function<void(const Record&, int scope)>& visit);
/// The loop whose body is phases, if the record is one.
const LoopCall* loop_of_phases(const Record& record);

}  // namespace graphc

// SPDX-License-Identifier: Apache-2.0
// Going through the addresses of a plan's records.
#pragma once

#include <functional>
#include <utility>

#include "codegen/step/plan.h"

namespace graphc::core {

/// Calls `visit` for every address a record touches, those of first iterations included.
void visit_addresses(const Record& record, const std::function<void(const Address&)>& visit);
/// The same, changing them.
void change_addresses(Record& record, const std::function<void(Address&)>& change);
/// Changes an address, and those of first iterations behind it.
void change_address(Address& address, const std::function<void(Address&)>& change);

/// The address, and those of first iterations behind it.
void visit_reads(const Address& address, const std::function<void(const Address&)>& visit);

/// The record of a phase and what is around it.
struct PhaseRecord {
  const Record* record = nullptr;
  int scope = -1;        ///< id of the loop around it, or -1
  int outer_scope = -1;  ///< of the loop around that
  int depth = 0;         ///< how many loops are around it
  bool is_only = false;  ///< whether it is all that the loop around it does
};

/// Calls `visit` for every phase, in order.
void visit_phases(const std::vector<Record>& records,
                  const std::function<void(const PhaseRecord&)>& visit);
/// The first and the last phase of a loop of the plan whose body is phases.
std::pair<int, int> phases_of(const Plan& plan, const LoopCall& loop);
/// The loop whose body is phases, if the record is one.
const LoopCall* loop_of_phases(const Record& record);

}  // namespace graphc::core

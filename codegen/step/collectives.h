// SPDX-License-Identifier: Apache-2.0
// Collectives of a step: external calls that begin an operation between ranks, and waits for them.
//
// A call reads operands "from" and writes operands "to", in the same order; of a sum several
// operands that are read, its parameter "terms", are added for each that is written. Between the
// call and its wait the operation runs beside the other records: none of these writes what it
// reads, or touches what it writes. The wait has the same operands, so that they live until then.
#pragma once

#include <string_view>

#include "codegen/step/plan.h"

namespace graphc::core {

inline constexpr std::string_view kAllReduce = "all_reduce", kAllGather = "all_gather",
                                  kWait = "wait";

inline bool is_collective(const ExternCall& call) {
  return call.function == kAllReduce || call.function == kAllGather;
}
inline bool is_wait(const ExternCall& call) { return call.function == kWait; }
/// The collective of the record, or null.
const ExternCall* collective_of(const Record& record);

/// The wait for a collective.
ExternCall wait_for(const ExternCall& call);
/// How many operands of a collective, or of a wait for it, are read.
size_t reads_of(const ExternCall& collective);

}  // namespace graphc::core

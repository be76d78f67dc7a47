// SPDX-License-Identifier: Apache-2.0
// Which workers have to wait for which: a barrier stands only where one worker accesses what
// another one writes.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Sets Record::barrier of all records, after schedule(). All workers meet after a record if, since
/// the barrier before, one of them has accessed bytes that another one accesses in the next record,
/// and one of the two writes them; in a loop the next record may be one of the next step. They also
/// meet after records that may fail, so that no worker goes on after a wrong index. The last record
/// of a plan needs none: the call ends there.
void place_barriers(Plan& plan);

/// The phases of a plan, and after how many of them all workers meet.
struct BarrierCount {
  int phases = 0, barriers = 0;
};
BarrierCount count_barriers(const Plan& plan);

}  // namespace graphc::core

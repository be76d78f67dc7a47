// SPDX-License-Identifier: Apache-2.0
// Which workers have to wait for which: a barrier stands only where one worker accesses what
// another one writes. Workers are threads of the CPU, or blocks of a GPU that share a loop.
#pragma once

#include <functional>
#include <vector>

#include "codegen/step/footprint.h"
#include "codegen/step/plan.h"

namespace graphc::core {

/// Sets Record::barrier of all records, after schedule(). All workers wait after a record if, since
/// the previous barrier, one of them has accessed bytes that another one accesses in the next
/// record, and one of the two writes them; in a loop the next record may be one of the next step.
/// They also wait after records that may fail, so that no worker goes on after a wrong index. The
/// last record of a plan needs no barrier: the call ends there.
void place_barriers(Plan& plan);

/// What is known of the parts of an access that workers share out (PlacedAccess::shared_axis).
enum class Ownership : uint8_t {
  ranges,   ///< a worker's part is share_of()
  indices,  ///< one worker owns equal indices of equal shares; of unequal shares nothing is known
};

/// The accesses of a record at a position of the `depth` loops around it: footprint_of(), or what a
/// target makes of it. Buffers below 0 are memory of the target's own.
using FootprintOf =
    std::function<std::vector<PlacedAccess>(const Record& record, const Position&, int depth)>;

/// A loop of a plan whose steps `workers` walk together, where it stands, and what each record of
/// its body accesses.
struct SharedLoop {
  const Plan& plan;
  LoopCall loop;      ///< Record::barrier of its records is ignored
  Position position;  ///< of the loops around it
  int depth = 0;      ///< how many those are
  int workers = 1;
  Ownership ownership = Ownership::ranges;
  FootprintOf footprint;
};

/// After which records of the loop's body all workers wait, by the rule of place_barriers().
std::vector<bool> barriers_in_loop(SharedLoop shared);
/// Whether there is any, in the loops of its body as well.
bool has_barriers(SharedLoop shared);

/// The number of phases of a plan, and after how many of them all workers wait.
struct BarrierCount {
  int phases = 0, barriers = 0;
};
BarrierCount count_barriers(const Plan& plan);

}  // namespace graphc::core

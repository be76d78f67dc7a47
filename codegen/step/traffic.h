// SPDX-License-Identifier: Apache-2.0
// The memory that a plan's kernels touch: what roofs of bandwidth are held against.
#pragma once

#include <map>

#include "codegen/step/plan.h"

namespace graphc::core {

/// The distinct bytes of each phase's operands, summed over its calls in one run of the plan. A
/// range that a call reads several times, writes and reads again, or changes in place counts once;
/// so does, in a loop that is one phase, what stays where it is from step to step, while what moves
/// with the steps counts for each. No memory traffic is less, unless a cache still has what a call
/// before left: operands that a cache cannot hold are read again, and what is changed in place is
/// both read and written. Panels count as they lie, padding included; panels and sums on a thread's
/// own scratch do not. Rows of tables count as if all indices differed. A loop that touches more
/// than four million separate ranges counts those alone.
std::map<const Record*, double> bytes_of_phases(const Plan& plan);

}  // namespace graphc::core

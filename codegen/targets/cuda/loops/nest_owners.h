// SPDX-License-Identifier: Apache-2.0
// Which elements of each nest a block of a grid or of a cluster computes.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// The owners of the nests by what these are: rows where a nest sums along them, indices around its
/// rows where it has any, elements of all others.
std::vector<Owner> owners_of(const LoopNests& nests);

/// Products and sums over rows divide a step into parts. Of each part in which a nest owns rows or
/// indices around them, this gives its elementwise nests, by number: if they own rows too, a block
/// reads what it has written, and the part may need no barrier. Other parts are left out.
std::vector<std::vector<size_t>> runs_beside_rows(const LoopNests& nests);

}  // namespace graphc::core::cuda

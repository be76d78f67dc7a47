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

/// The elementwise nests of each part of a step without products in which other nests own rows, or
/// indices around them. If these own rows too, no barrier may be left in that part: what a block
/// reads is what it has written. Parts without such nests are left out.
std::vector<std::vector<size_t>> runs_beside_rows(const LoopNests& nests);

}  // namespace graphc::core::cuda

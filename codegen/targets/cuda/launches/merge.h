// SPDX-License-Identifier: Apache-2.0
// Launches of a step that become one: nests without products that do not depend on each other.
#pragma once

#include <string>

#include "codegen/targets/cuda/launches/launches.h"

namespace graphc::core::cuda {

/// Puts nests into one launch each with others, wherever they stand in the step, and the launches
/// into an order that keeps to what they touch. Nests are only put together where no product, loop
/// or table has to wait for another one for it. What is joined has the bits that it had.
void merge_launches(const Plan& plan, const Gpu& gpu, Launches& launches);

/// "6 nests in one launch: sum.14, sum.11, ...": of a launch of several nests.
std::string nests_text(const Launch& launch);

}  // namespace graphc::core::cuda

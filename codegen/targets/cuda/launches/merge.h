// SPDX-License-Identifier: Apache-2.0
// Merges launches of a step: independent nests without products become one launch.
#pragma once

#include <string>

#include "codegen/targets/cuda/launches/launches.h"

namespace graphc::core::cuda {

/// Merges nests from anywhere in the step, and orders the launches according to their memory
/// accesses. Nests are merged only if no product, loop or table has to wait for another one as a
/// result. Merging does not change the bits of any value.
void merge_launches(const Plan& plan, const Gpu& gpu, Launches& launches);

/// "6 nests in one launch: sum.14, sum.11, ...": describes a launch of several nests.
std::string nests_text(const Launch& launch);

}  // namespace graphc::core::cuda

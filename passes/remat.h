// SPDX-License-Identifier: Apache-2.0
// What is chosen where nobody says of which steps a loop saves its carries (passes/remat.cpp).
#pragma once

#include <cstdint>

namespace graphc::core {

/// Of which steps a loop saves the fewest states in all: every so many, the power of two nearest to
/// the square root of `steps`, by ratio.
int64_t steps_between_saved(int64_t steps);

}  // namespace graphc::core

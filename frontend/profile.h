// SPDX-License-Identifier: Apache-2.0
// What the kernels of a run took, as people read it.
#pragma once

#include <string>
#include <vector>

#include "runtime/executable.h"

namespace graphc::core {

/// A line for each kernel, the longest first: its part of all, milliseconds, calls, GFLOP/s where
/// it has products, GB/s of the distinct bytes of its operands, what it is and the user's line.
std::string text_of(std::vector<KernelTime> times);

/// Writes the text to stdout: `print(session.profile("train", x, y))`.
void print(const std::vector<KernelTime>& times);

}  // namespace graphc::core

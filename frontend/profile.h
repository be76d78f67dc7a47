// SPDX-License-Identifier: Apache-2.0
// What the kernels of a run took, as people read it.
#pragma once

#include <string>
#include <vector>

#include "runtime/executable.h"

namespace graphc::core {

/// The user's line that a kernel comes from, "model.cpp:7", or "model.cpp:7 backward" where it
/// computes derivatives of that line; "-" where there is none.
std::string line_of(const KernelTime& time);

/// A line for each kernel, the longest first: its part of all, milliseconds, calls, GFLOP/s where
/// it has products, GB/s of the distinct bytes of its operands, what it is and line_of().
std::string text_of(std::vector<KernelTime> times);

/// Writes the text to stdout: `print(session.profile("train", x, y))`.
void print(const std::vector<KernelTime>& times);

}  // namespace graphc::core

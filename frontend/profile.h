// SPDX-License-Identifier: Apache-2.0
// Kernel times of a run as text.
#pragma once

#include <string>
#include <vector>

#include "runtime/executable.h"

namespace graphc::core {

/// The user's line that a kernel comes from: "model.cpp:7", or "model.cpp:7 backward" if it
/// computes derivatives of that line; "-" if there is none.
std::string line_of(const KernelTime& time);

/// One line per kernel, longest first: its share of the total, milliseconds, calls, GFLOP/s if it
/// has products, GB/s over the distinct bytes of its operands, a description, and line_of().
std::string text_of(std::vector<KernelTime> times);

/// Writes the text to stdout: `print(session.profile("train", x, y))`.
void print(const std::vector<KernelTime>& times);

}  // namespace graphc::core

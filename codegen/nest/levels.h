// SPDX-License-Identifier: Apache-2.0
// How often the instructions of a nest must run, on any machine.
#pragma once

#include <vector>

#include "codegen/nest/program.h"

namespace graphc::core {

/// Once for a call, once for each row, or for every element.
enum class Level : uint8_t { once, row, element };

/// The level of each instruction of the body: that of what it reads, and at least that of what it
/// depends on.
std::vector<Level> levels_of(const NestProgram& program);

}  // namespace graphc::core

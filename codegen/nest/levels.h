// SPDX-License-Identifier: Apache-2.0
// How often each instruction of a nest must run, on any machine.
#pragma once

#include <vector>

#include "codegen/nest/program.h"

namespace graphc::core {

/// Once per call, once per row, or once per element.
enum class Level : uint8_t { once, row, element };

/// The level of each instruction of the body: that of the operand it loads or of its kind, and at
/// least that of every instruction it depends on.
std::vector<Level> levels_of(const NestProgram& program);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The interface whose option names an error uses.
#pragma once

#include <cstdint>

namespace graphc::core {

enum class OptionWords : uint8_t {
  program,          ///< C++: .decimal = ','
  command_line,     ///< --decimal=,
  trained_command,  ///< the same, for verbs that treat missing cells as in training
};

}  // namespace graphc::core

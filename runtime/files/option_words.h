// SPDX-License-Identifier: Apache-2.0
// In whose words an error names the option that would help.
#pragma once

#include <cstdint>

namespace graphc::core {

enum class OptionWords : uint8_t {
  program,          ///< C++: .decimal = ','
  command_line,     ///< --decimal=,
  trained_command,  ///< likewise, in verbs that treat missing cells as the training did
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// How much memory the process may use.
#pragma once

#include <cstdint>

namespace graphc::core {

/// Bytes of memory of the machine, or of the control group that the process is in, if that has
/// less. Swap space is not counted.
int64_t memory_size();

}  // namespace graphc::core

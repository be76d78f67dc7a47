// SPDX-License-Identifier: Apache-2.0
// The clock for durations.
#pragma once

#include <chrono>

namespace graphc::core {

/// Seconds since an arbitrary moment; monotonic.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace graphc::core

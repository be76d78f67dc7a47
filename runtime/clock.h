// SPDX-License-Identifier: Apache-2.0
// The one clock that durations are measured with.
#pragma once

#include <chrono>

namespace graphc::core {

/// Seconds since an arbitrary moment; never goes back.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace graphc::core

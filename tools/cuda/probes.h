// SPDX-License-Identifier: Apache-2.0
// Measured properties of a GPU: the parameters of the speed model
// (codegen/targets/cuda/launches/speed_model.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/cuda/lab.h"

namespace graphc::core::probe {

struct Probe {
  std::string_view name;
  std::string_view what;  ///< what is measured, in one line
  std::string_view unit;
  /// The quantity in that unit; null if graphc cannot measure it.
  bench::Summary (*measure)(Lab& lab) = nullptr;
  std::string_view why_not;  ///< reason for null, in one line
};

/// All probes, in reading order.
std::span<const Probe> all_probes();

}  // namespace graphc::core::probe

// SPDX-License-Identifier: Apache-2.0
// What a GPU can do, measured: the figures that the model of speed (codegen/cuda/speed_model.h)
// takes for known.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/cuda/lab.h"

namespace graphc::core::probe {

struct Probe {
  std::string_view name;
  std::string_view what;  ///< is measured, in one line
  std::string_view unit;
  /// The quantity in that unit; null for what graphc cannot measure.
  bench::Summary (*measure)(Lab& lab) = nullptr;
  std::string_view why_not;  ///< then, in one line
};

/// All of them, in the order of reading.
std::span<const Probe> all_probes();

}  // namespace graphc::core::probe

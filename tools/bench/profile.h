// SPDX-License-Identifier: Apache-2.0
// Kernel times of a call from several profiled calls, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/bench/statistics.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {

/// A kernel of a profiled call; `seconds` in it is the median.
struct KernelFigures {
  KernelTime kernel;
  Summary seconds;
};

/// The kernels of one kind of call of a configuration, in the order of their starts.
struct CallProfile {
  Configuration configuration;
  Call call = Call::train;
  int64_t runs = 0;  ///< profiled calls
  std::vector<KernelFigures> kernels;
};

/// The number of profiled calls, and a limit on their total time.
inline constexpr int64_t kProfiledCalls = 5;
inline constexpr double kProfileSeconds = 20;

/// Compiles a kind of call and profiles at least one call. Throws ErrorKind::usage if the target
/// cannot profile.
CallProfile profile_call(Subject& subject, Call call);

/// A heading and one line per kernel, in the form of text_of() of frontend/profile.h.
std::string text_of(const CallProfile& profile);

/// {"environment": ..., "profiles": [...]}, each with its "kernels"; a peak of 0 is omitted.
nlohmann::ordered_json to_json(std::span<const CallProfile> profiles, double peak_gflops);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// What each kernel of a call takes: several profiled calls, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tools/bench/statistics.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {

/// A kernel of a profiled call; its `seconds` are the median.
struct KernelFigures {
  KernelTime kernel;
  Summary seconds;
};

/// The kernels of one kind of call of a configuration, in the order in which they begin.
struct CallProfile {
  Configuration configuration;
  Call call = Call::train;
  int64_t runs = 0;  ///< profiled calls
  std::vector<KernelFigures> kernels;
};

/// So many calls are profiled, unless they take longer than so many seconds.
inline constexpr int64_t kProfiledCalls = 5;
inline constexpr double kProfileSeconds = 20;

/// Compiles a kind of call and profiles it, one call at least. Throws ErrorKind::usage where the
/// target does not say what its kernels take.
CallProfile profile_call(Subject& subject, Call call);

/// A heading and a line for each kernel, as text_of() of frontend/profile.h has it.
std::string text_of(const CallProfile& profile);

/// {"environment": ..., "profiles": [...]}, each with its "kernels"; without a peak, which is 0,
/// there is none.
nlohmann::ordered_json to_json(std::span<const CallProfile> profiles, double peak_gflops);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// Measures one row of a benchmark.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/ranks/ranks.h"
#include "tools/bench/statistics.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {

/// The state of the kernel caches before a compilation: empty; filled on disk by an earlier
/// process; or filled in this process.
enum class Caches { cold, disk, warm };
std::string_view name_of(Caches caches);

struct Settings {
  int64_t repeat = 10;       ///< timed calls of each kind
  int64_t compilations = 5;  ///< maximum number of compilations
  Caches caches = Caches::cold;
  double row_seconds = 20;  ///< time limit for a row's timed calls
  /// With several ranks, rank 0 decides how many calls and compilations there are. Null: one rank.
  std::shared_ptr<Ranks> ranks;
};

struct Timed {
  Summary step_s;
  int64_t steps = 0;
  double product_flop = 0;  ///< CompileReport::product_flop of its graph
  /// The time until all work of a step was enqueued on a device, without waiting for it: not a step
  /// time. Empty without a device.
  std::optional<Summary> enqueue_s = std::nullopt;
};

struct Row {
  Configuration configuration;
  Caches caches = Caches::cold;
  std::optional<Work> work = std::nullopt;
  /// From the first frontend call to the end of the first call; the phases in `compile` and
  /// `first_step_s` are those of the median compilation.
  Summary compile_s;
  CompileReport compile;
  double first_step_s = 0;
  /// Kernels generated, loaded or tuned in the first calls; must be 0.
  int64_t first_step_kernels = 0;
  std::optional<Timed> train, forward;
  int64_t peak_bytes = 0;
};

/// Measures a subject. Calls `stop` PeakMeter::kStops times, outside all timed code. Throws
/// ErrorKind::check if a loss is not finite.
Row measure(Subject& subject, const Settings& settings, const std::function<void()>& stop);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// One row of a benchmark, measured.
#pragma once

#include <functional>
#include <optional>

#include "tools/bench/statistics.h"
#include "tools/bench/subject.h"

namespace graphc::core::bench {

/// What the caches of kernels hold before a compilation: nothing; on disk, what an earlier one
/// left; or that in this process.
enum class Caches { cold, disk, warm };
std::string_view name_of(Caches caches);

struct Settings {
  int64_t repeat = 10;       ///< timed calls of each kind
  int64_t compilations = 5;  ///< at most
  Caches caches = Caches::cold;
  double row_seconds = 20;  ///< when a row's timed calls end early
};

struct Timed {
  Summary step_s;
  int64_t steps = 0;
  double product_flop = 0;  ///< CompileReport::product_flop of its graph
  /// Until a device had been given the work of a step, without waiting for it: not the time of a
  /// step. Nothing where there is no device.
  std::optional<Summary> enqueue_s = std::nullopt;
};

struct Row {
  Configuration configuration;
  Caches caches = Caches::cold;
  std::optional<Work> work = std::nullopt;
  /// From the first frontend call to the end of the first call; the phases of `compile` and
  /// `first_step_s` are those of the median compilation.
  Summary compile_s;
  CompileReport compile;
  double first_step_s = 0;
  /// Kernels generated, loaded or tuned in the first calls; anything but 0 is a defect.
  int64_t first_step_kernels = 0;
  std::optional<Timed> train, forward;
  int64_t peak_bytes = 0;
};

/// Measures a subject. `stop` is called PeakMeter::kStops times, outside everything timed. Throws
/// ErrorKind::check when a loss is not finite.
Row measure(Subject& subject, const Settings& settings, const std::function<void()>& stop);

}  // namespace graphc::core::bench

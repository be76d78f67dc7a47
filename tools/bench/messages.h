// SPDX-License-Identifier: Apache-2.0
// Progress messages of a benchmark on stderr.
#pragma once

#include <vector>

#include "tools/bench/measure.h"

namespace graphc::core::bench {

/// A line, the first time that it is given: what is measured is compiled several times.
void say_once(const std::string& line);
/// The times of a measured row, the `done`th of `all`.
void show_progress(const Row& row, size_t done, size_t all);
/// The notices of a row's compilation, unless it is of a variant that is compared with.
void show_notices(const Row& row);
/// Fractions of the peak, or speeds if the peak is 0.
void show_speeds(const std::vector<Row>& rows, double peak);

}  // namespace graphc::core::bench

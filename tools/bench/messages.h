// SPDX-License-Identifier: Apache-2.0
// What a benchmark says on stderr while it measures.
#pragma once

#include <vector>

#include "tools/bench/measure.h"

namespace graphc::core::bench {

/// Of a row that was measured, the `done`th of `all`: its times.
void show_progress(const Row& row, size_t done, size_t all);
/// The loops of a row that are not one kernel, where a list of passes was to make them.
void show_loops(const Row& row);
/// Fractions of the peak; without one, which is 0, the speeds themselves.
void show_speeds(const std::vector<Row>& rows, double peak);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// Statistics of a test run for people: `tools/test` sums them up at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

/// Adds `n` to the number of things tried under this name ("random graphs"): appends a line of
/// JSON, {"count": what, "n": n}, to the file named by $GRAPHC_COUNTS. Does nothing if the variable
/// is not set. Tests run in separate processes, so each reports its own number, not a total.
void count(std::string_view what, int64_t n);

/// Records the distinct things tried under this name, by key: the totals count each key once over
/// all processes.
void distinct(std::string_view what, const std::vector<std::string>& keys);

/// Records `value` as a maximum under this name ("ulp of exp"): {"largest": what, "value": value}.
/// The totals have the maximum over all tests.
void largest(std::string_view what, double value);

}  // namespace graphc::core::testing

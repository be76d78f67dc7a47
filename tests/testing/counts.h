// SPDX-License-Identifier: Apache-2.0
// What a run of the tests tried, in numbers a person can read: `tools/test` sums them at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

/// Adds `n` to what is tried under this name ("random graphs"): a line of JSON, {"count": what,
/// "n": n}, at the end of the file named by $GRAPHC_COUNTS. Nothing where the variable is not set.
/// Tests are processes of their own, so a test that counts says how many it tried, not a total.
void count(std::string_view what, int64_t n);

/// Says that these were tried under this name, by keys: the totals have how many there are in all
/// processes together, each once.
void distinct(std::string_view what, const std::vector<std::string>& keys);

/// Says that `value` is the largest seen of this ("ulp of exp"): {"largest": what, "value": value}.
/// The totals have the largest that any test has said.
void largest(std::string_view what, double value);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// What a benchmark prints: the table for people, the JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tools/bench/measure.h"

namespace graphc::core::bench {

/// The work a second of a call, and how much of the peak that is: 0 where no peak was measured,
/// which is a peak of 0. Absent without counted work.
struct Speed {
  Summary gflops;
  Summary fraction;
};
std::optional<Speed> speed_of(const Row& row, Call call, double peak_gflops);

/// Throws ErrorKind::check, naming the row, when a median is faster than the peak, counting no more
/// than the step does (Timed::product_flop): then the work is counted wrong, or the peak was not
/// reached while it was read. Without a peak there is nothing to check.
void check_fractions(std::span<const Row> rows, double peak_gflops);

/// `Library | Compile (s) | Train (ms/example) | Forward only (ms/example)`, with a line for each
/// row; (ms/step) for a file, whose calls count as one example each. "-" where a column does not
/// apply.
std::string table(std::span<const Row> rows, bool markdown);

/// How something was compiled, in words: "fused", "fused unroll=2".
std::string way_of(const Configuration& configuration);

/// What was compiled, and how: the head of a result.
nlohmann::ordered_json to_json(const Configuration& configuration);

/// {"environment": ..., "results": [...]}; a field that does not apply is absent.
nlohmann::ordered_json to_json(std::span<const Row> rows, double peak_gflops);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// The output of a benchmark: a table for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tools/bench/measure.h"

namespace graphc::core::bench {

/// The counted work of a call per second, and as a fraction of the peak; the fraction is 0 if the
/// peak is 0, i.e. not measured. Empty without counted work.
struct Speed {
  Summary gflops;
  Summary fraction;
};
std::optional<Speed> speed_of(const Row& row, Call call, double peak_gflops);

/// Throws ErrorKind::check, naming the row, if a median exceeds the peak, counting at most the
/// products that the step executes (Timed::product_flop): then the work is counted wrong, or the
/// measured peak is too low. A peak of 0 disables the check.
void check_fractions(std::span<const Row> rows, double peak_gflops);

/// `Library | Compile (s) | Train (ms/example) | Forward only (ms/example)`, with one line per row;
/// (ms/step) for a file, each of whose calls counts as one example. "-" where a column does not
/// apply.
std::string table(std::span<const Row> rows, bool markdown);

/// How something was compiled, for people: "fused", "fused unroll=2".
std::string way_of(const Configuration& configuration);

/// What was compiled, and how: the head of a result.
nlohmann::ordered_json to_json(const Configuration& configuration);

/// {"environment": ..., "results": [...]}; fields that do not apply are absent.
nlohmann::ordered_json to_json(std::span<const Row> rows, double peak_gflops);

}  // namespace graphc::core::bench

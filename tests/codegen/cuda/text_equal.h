// SPDX-License-Identifier: Apache-2.0
// What the files about defects that change nothing share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/codegen/cuda/text_lines.h"
#include "tests/codegen/cuda/text_mutants.h"

namespace graphc::core::testing {

/// What is said of the nest of a loop that a line is in: "columns_owned" is its columns_owned_1; 0
/// where nothing is.
int64_t of_nest(const std::vector<Line>& lines, size_t at, const Launched& launched,
                const std::string& what);

/// Whether blocks meet between the last store into another's shared memory and a line.
bool has_met_since_stores(const std::vector<Line>& lines, size_t at);

/// Why a defect of a fragment, or of what blocks of a cluster hand each other, changes nothing;
/// empty: it must be found. `at` is its line.
std::string_view why_equal_of_gpus(const TextMutant& mutant, const std::vector<Line>& lines,
                                   size_t at, const Launched& launched);

}  // namespace graphc::core::testing

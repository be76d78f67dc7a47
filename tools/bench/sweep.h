// SPDX-License-Identifier: Apache-2.0
// Comma-separated lists on the command line: every combination is a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::bench {

/// The parts of "a,b,c". Throws ErrorKind::usage, naming `what`, if one is empty.
std::vector<std::string> split_list(std::string_view text, std::string_view what);

/// Expands assignments `name=a,b` to all combinations of single values, the first name changing
/// slowest. Without assignments there is one empty combination. Throws ErrorKind::usage for more
/// than 10,000.
std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& assignments);

}  // namespace graphc::core::bench

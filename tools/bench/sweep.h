// SPDX-License-Identifier: Apache-2.0
// Comma lists on the command line: every combination is a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::bench {

/// The parts of "a,b,c". Throws ErrorKind::usage, naming `what`, when one is empty.
std::vector<std::string> split_list(std::string_view text, std::string_view what);

/// Assignments `name=a,b` as assignments of single values: every combination, the first name
/// changing slowest. Without assignments: one combination, of nothing. Throws ErrorKind::usage when
/// there are more than 10,000.
std::vector<std::vector<std::string>> combinations(const std::vector<std::string>& assignments);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// Counts and reports the elements of a text that are not in a vocabulary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/utf8.h"

namespace graphc::core {

/// The unknown elements (characters or words) of a text, with their counts.
struct Unknown {
  std::map<std::string, int64_t, std::less<>> counts;
  int64_t all = 0;  ///< elements of the text, known or unknown

  int64_t total() const {
    int64_t sum = 0;
    for (const auto& [element, count] : counts) sum += count;
    return sum;
  }
  /// "12 of 340 characters are not in the vocabulary ('é' 7, '—' 5)": most frequent first.
  std::string to_text(std::string_view unit) const {
    std::vector<std::pair<std::string, int64_t>> order(counts.begin(), counts.end());
    std::ranges::stable_sort(order, std::greater(), [](const auto& each) { return each.second; });
    std::string shown;
    for (size_t i = 0; i < std::min(order.size(), kMostShown); ++i) {
      shown += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", printable(order[i].first, 40),
                           order[i].second);
    }
    if (order.size() > kMostShown) shown += fmt::format(", {} others", order.size() - kMostShown);
    return fmt::format("{} of {} {} are not in the model's vocabulary ({})", total(), all, unit,
                       shown);
  }

 private:
  static constexpr size_t kMostShown = 8;
};

}  // namespace graphc::core

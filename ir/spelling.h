// SPDX-License-Identifier: Apache-2.0
// Spelling suggestions in messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::core {

/// The candidate with the smallest edit distance to `word`, the first of several; empty if none is
/// closer than a third of the word's letters (at least one).
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);
/// "; did you mean 'tanh'?", or empty if no candidate is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace graphc::core

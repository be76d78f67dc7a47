// SPDX-License-Identifier: Apache-2.0
// The reasons for the order of passes in the standard pipelines, as data. The table in
// passes/README.md is generated from it, every standard pipeline is checked against it, and each
// rule has a test that swaps the passes in a real pipeline and observes the harm.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace graphc::core {

/// The harm of the opposite order.
enum class Harm : uint8_t { slower, wrong };

/// Some of `before` run before some of `after`, if a pipeline has both. simplify, cse and hoist
/// occur several times, because they clean up after other passes.
struct OrderRule {
  std::string_view before, after;  ///< names of passes, separated by commas
  Harm harm;
  std::string_view why;
  bool never_behind = false;  ///< in addition, none of `before` runs after `after`
};

std::span<const OrderRule> order_rules();

/// Whether a pipeline has passes on both sides of the rule.
bool concerns(const OrderRule& rule, const Pipeline& pipeline);
/// Whether a pipeline that has both obeys the rule.
bool obeys(const Pipeline& pipeline, const OrderRule& rule);
/// The pipeline with the two sides swapped: the side with fewer occurrences stays, and the others
/// are moved past it; for `never_behind`, `before` is appended once more after `after`.
Pipeline exchanged(const Pipeline& pipeline, const OrderRule& rule);

/// The rules as a Markdown table.
std::string order_table();

}  // namespace graphc::core

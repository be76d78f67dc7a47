// SPDX-License-Identifier: Apache-2.0
// Why the passes of the standard pipelines stand where they stand, as data: the table in
// passes/README.md is printed from it, every standard pipeline is held to it, and each row has a
// test that exchanges the two in a real pipeline and sees what gets worse.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace graphc::core {

/// What happens where the order is another.
enum class Harm : uint8_t { slower, wrong };

/// Some of `before` run before some of `after`, where a pipeline has both. simplify, cse and hoist
/// come several times, because what one pass writes is what the next cleans up.
struct OrderRule {
  std::string_view before, after;  ///< names of passes, separated by commas
  Harm harm;
  std::string_view why;
  bool never_behind = false;  ///< and none of `before` runs behind `after`
};

std::span<const OrderRule> order_rules();

/// Whether a pipeline has passes of both sides.
bool concerns(const OrderRule& rule, const Pipeline& pipeline);
/// Whether a pipeline that the rule concerns obeys it.
bool obeys(const Pipeline& pipeline, const OrderRule& rule);
/// The pipeline with the two exchanged: what is in it fewer times stays, what the others were moved
/// past; for `never_behind` they come once more, behind.
Pipeline exchanged(const Pipeline& pipeline, const OrderRule& rule);

/// The rules as a table of Markdown.
std::string order_table();

}  // namespace graphc::core

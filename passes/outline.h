// SPDX-License-Identifier: Apache-2.0
// Recognition of composites by their bodies, and explanations of near misses.
#pragma once

#include <string>
#include <string_view>

#include "ir/op.h"
#include "passes/pass.h"

namespace graphc::core {

/// The composite called `name`, if `outline` can recognise it; otherwise throws ErrorKind::usage,
/// with a "did you mean" if there is a close name.
const Op& find_pattern(std::string_view name);

/// For each candidate in the graph and its regions: how much of the composite matches, and the
/// first difference. Candidates are loops, or nodes with the op of the composite's result; of the
/// latter, those that match at least half, else the nearest.
std::string why_not(const Graph& graph, const Op& composite);

/// The part of the pipeline before `outline`; all of it if it has none.
Pipeline before_outline(const Pipeline& pipeline);

}  // namespace graphc::core

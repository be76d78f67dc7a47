// SPDX-License-Identifier: Apache-2.0
// Recognising composites by their bodies, and saying why something is not one.
#pragma once

#include <string>
#include <string_view>

#include "ir/op.h"
#include "passes/pass.h"

namespace graphc::core {

/// The composite called `name` that `outline` can recognise; throws ErrorKind::usage, with a "did
/// you mean" where there is one.
const Op& find_pattern(std::string_view name);

/// Lines that say for each candidate in the graph and its regions how much of the composite it is,
/// and where it first differs. Candidates are loops, or nodes of the op of the composite's result;
/// of the latter those that are half of it, else the nearest.
std::string why_not(const Graph& graph, const Op& composite);

/// What runs before `outline` in the pipeline; all of it when it has none.
Pipeline before_outline(const Pipeline& pipeline);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Graphs of f32 as graphs of f64, which GPUs multiply without tensor cores or fragments.
#pragma once

#include <regex>

#include "ir/text.h"

namespace graphc::core::testing {

/// The same graph, each f32 of which is an f64.
inline GraphPtr in_f64(const GraphPtr& graph) {
  return parse_graph(std::regex_replace(print(*graph), std::regex("\\bf32\\b"), "f64"));
}

}  // namespace graphc::core::testing

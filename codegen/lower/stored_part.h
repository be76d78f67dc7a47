// SPDX-License-Identifier: Apache-2.0
// Kernels some of whose results have no elements: what is left to compute.
#pragma once

#include <optional>
#include <vector>

#include "codegen/step/plan.h"
#include "ir/graph.h"

namespace graphc::core {

/// A part of a kernel's body, and where its inputs and results lie.
struct StoredPart {
  GraphPtr body;
  std::vector<View> inputs, results;
};

/// Of a body with views for its inputs and results: the results that have elements, and the inputs
/// they need, so that rows and columns of what is not stored are not taken for theirs. Nothing when
/// all results have elements.
std::optional<StoredPart> part_to_store(const Graph& body, const std::vector<View>& inputs,
                                        const std::vector<View>& results);

}  // namespace graphc::core

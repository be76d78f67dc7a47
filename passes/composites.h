// SPDX-License-Identifier: Apache-2.0
// Replacing composites by their bodies.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace graphc::core {

/// Adds the body of a composite node to `to`, substituting `operands` for its parameters, and
/// recursively the bodies of those composites in it for which `choose` is true. Its nodes get the
/// user's line, its results the names of the composite's results.
Values inline_composite(const Node& node, const Values& operands, Graph& to,
                        const std::function<bool(const Node&)>& choose);

/// Whether a composite is differentiated through its body.
bool has_no_derivative(const Node& node);

}  // namespace graphc::core

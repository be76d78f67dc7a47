// SPDX-License-Identifier: Apache-2.0
// Matrices of products put into panels ahead of their calls. Internal to codegen/lower.
#pragma once

#include <string>
#include <vector>

#include "codegen/lower/context.h"

namespace graphc::core {

/// Puts the matrices of `calls` into panels before a loop that reads them at every step: in derived
/// forms if they are states, or else by records, before loops around this one where they find the
/// same matrix. The calls then read those.
void make_panels(LowerContext& context, std::vector<NestCall>& calls);

/// Lets calls that run again and again read panels that exist. In a loop these are derived forms of
/// states, or are made before the outermost loop whose steps all find the same matrix; elsewhere
/// they are those of states which the graph does not write. Where every step changes a weight,
/// putting it into panels while it is multiplied is cheaper.
void read_panels_of_repeated(LowerContext& context, std::vector<NestCall>& calls);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Matrices of products put into panels ahead of their calls. Internal to codegen/lower.
#pragma once

#include <string>
#include <vector>

#include "codegen/lower/context.h"

namespace graphc::core {

/// Puts the matrices of `calls` into panels before a loop that reads them at every step: in derived
/// forms if they are states, or else by records. The calls then read those.
void make_panels(LowerContext& context, std::vector<NestCall>& calls);

/// Lets calls that run again and again read derived forms of states: those in a loop, and those
/// that read a state which the graph does not write. Where every step changes a weight, putting it
/// into panels while it is multiplied is cheaper.
void read_forms(LowerContext& context, std::vector<NestCall>& calls);

}  // namespace graphc::core

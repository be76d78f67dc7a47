// SPDX-License-Identifier: Apache-2.0
// The places of the values that loops carry from step to step; internal to
// codegen/plan/sharing.cpp.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Assigns places to the carries of every loop. Where the rule of codegen/plan/sharing.h allows
/// `next` to take the place of `now`, both have one place, and a copy before the loop writes the
/// initial value to it. Otherwise they have two places that swap roles with each step, and the
/// first step reads the initial value from its own place.
void place_carries(Plan& plan);

}  // namespace graphc::core

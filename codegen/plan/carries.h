// SPDX-License-Identifier: Apache-2.0
// The places of what loops carry from step to step; internal to codegen/plan/sharing.cpp.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Gives the carries of every loop their places. Where `next` may stand in the place of `now` by
/// the rule of codegen/plan/sharing.h, both have one, and a copy in front of the loop puts the
/// initial value there; otherwise they have two that change roles with each step, and the first
/// step reads the initial value where it lies.
void place_carries(Plan& plan);

}  // namespace graphc::core

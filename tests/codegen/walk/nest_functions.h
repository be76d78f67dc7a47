// SPDX-License-Identifier: Apache-2.0
// Functions for the nests of a step that no code generator made: each interprets its program.
#pragma once

#include <vector>

#include "codegen/step/plan.h"
#include "codegen/walk/walker.h"

namespace graphc::core::testing {

/// A function for each program of the plan, which outlives them. Only one plan has such functions
/// at a time. Throws ErrorKind::internal for more programs than there are functions.
std::vector<cpu::CompiledNest> interpreted_nests(const Plan& plan);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Which nests round a product that is added once, with the sum.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Sets NestProgram::contracts. No nest of a plan contracts if any looks for a maximum: its
/// derivative finds the element by comparing, where the element is computed again, perhaps by
/// another nest than the one that stored it or found the maximum. All must round it alike, or no
/// element is the maximum, and the derivative is zero.
void choose_contraction(Plan& plan);

}  // namespace graphc::core

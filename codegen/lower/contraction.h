// SPDX-License-Identifier: Apache-2.0
// Which nests use fused multiply-adds: one rounding for a product and the sum that it goes into.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Sets NestProgram::contracts. No nest of a plan contracts if any looks for a maximum of floats.
/// The derivative of a maximum compares elements with it, and may compute them in another nest than
/// the one that stored them or found the maximum. All these nests must round alike, or no element
/// equals the maximum, and the derivative is zero.
void choose_contraction(Plan& plan);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The work of a plan's products.
#pragma once

#include <map>

#include "codegen/step/plan.h"

namespace graphc::core {

/// The floating-point operations of each phase's products in one run of the plan: two for each
/// term. Not counted is what nobody does: products with zeros in a first step, and records that the
/// last step leaves out.
std::map<const Record*, double> flop_of_phases(const Plan& plan);
/// Their sum.
double product_flop(const Plan& plan);

}  // namespace graphc::core

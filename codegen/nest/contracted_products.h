// SPDX-License-Identifier: Apache-2.0
// Which products of a nest are rounded together with the sum that they go into.
#pragma once

#include <vector>

#include "codegen/nest/program.h"

namespace graphc::core {

/// For each instruction the product that it adds in one rounding, a fused multiply-add, by the
/// number of its instruction; -1 for others. Such a product has no other use. A nest that does not
/// contract (NestProgram::contracts) has none. Chosen here, and not by compilers of the code, which
/// choose by what is around: bits would depend on how many rows are computed at a time. `shares`,
/// unless empty, says which instructions make shares of sums that blocks of a GPU add up: a whole
/// product that goes into a share has a rounding of its own.
std::vector<int> contracted_products(const NestProgram& program,
                                     const std::vector<bool>& shares = {});

}  // namespace graphc::core

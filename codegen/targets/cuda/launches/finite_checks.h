// SPDX-License-Identifier: Apache-2.0
// Kernels that look whether the results of a step and the states it wrote are finite.
#pragma once

#include <vector>

#include "codegen/targets/cuda/launches/launches.h"

namespace graphc::core::cuda {

/// A launch for each result and each written state of floating-point numbers, which sets
/// Fault::not_finite where one of them is infinite or not a number. Their kernels join those of
/// `launches`. `states`: the type of each state's numbers.
std::vector<Launch> finite_checks(const Plan& plan, const std::vector<DType>& states,
                                  Launches& launches);

}  // namespace graphc::core::cuda

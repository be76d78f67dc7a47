// SPDX-License-Identifier: Apache-2.0
// Kernels that check whether the results of a step and the states it wrote are finite.
#pragma once

#include <vector>

#include "codegen/targets/cuda/launches/launches.h"

namespace graphc::core::cuda {

/// One launch for each floating-point result and written state. It sets Fault::not_finite if an
/// element is infinite or NaN. The kernels are added to those of `launches`. `states`: the element
/// type of each state.
std::vector<Launch> finite_checks(const Plan& plan, const std::vector<DType>& states,
                                  Launches& launches);

}  // namespace graphc::core::cuda

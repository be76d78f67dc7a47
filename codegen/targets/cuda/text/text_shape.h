// SPDX-License-Identifier: Apache-2.0
// What a kernel's text is besides its names: equal layers of a network are one kernel.
#pragma once

#include <string>

#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// The text without comments, every name that it declares replaced by a number in the order in
/// which they appear. Kernels of one shape have the same parameters in the same order and do the
/// same with them. Names that the text does not declare stay, such as functions of CUDA.
std::string shape_of(const KernelText& kernel);

}  // namespace graphc::core::cuda

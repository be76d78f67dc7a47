// SPDX-License-Identifier: Apache-2.0
// CUDA texts that are damaged one place at a time, on their way to the device.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "codegen/targets/cuda/text/kernel_text.h"
#include "ir/literal.h"

namespace graphc::core::testing {

/// What is damaged, a regular expression, and what stands in its place; "$1" is its first group.
struct Damage {
  const char* place;
  const char* replacement;
};

/// Expects that every damage of a kernel, at each place that it matches, is found: that `results`,
/// which compiles and runs the graph of these kernels on the mock driver, gives other bits than
/// undamaged, or throws an Error. Returns how many there were.
int expect_damages_found(const std::vector<cuda::KernelText>& kernels,
                         std::span<const Damage> damages,
                         const std::function<std::vector<Literal>()>& results);

}  // namespace graphc::core::testing

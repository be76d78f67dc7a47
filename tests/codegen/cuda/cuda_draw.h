// SPDX-License-Identifier: Apache-2.0
// Random graphs for the CUDA target, of all kinds that there are.
#pragma once

#include "tests/codegen/variants.h"

namespace graphc::core::testing {

/// What a number stands for. Twenty in a row meet every way in every placement; kinds of graphs
/// take turns over these.
struct CudaDraw {
  unsigned seed;
  GraphPtr graph;
  Numbers numbers;
  TargetLevel level;
  Way way;
};
CudaDraw draw_for_cuda(unsigned seed);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/product_text.h"

#include <algorithm>

namespace graphc::core::cuda {

bool on_tensor_cores(const NestProgram& program) {
  for (const NestProduct& product : program.products) {
    if (product.factors == Factors::as_stored) return false;
  }
  const int parts = parts_of(program);
  return 4 * (parts + std::min(parts, kPartsAtOnce)) <= kMostMmaSums;
}

std::unique_ptr<const ProductText> product_text(const NestProgram& program, const ProductTile& tile,
                                                const NestGrid& grid) {
  return on_tensor_cores(program) ? mma_text(program, tile) : fma_text(program, tile, grid);
}

}  // namespace graphc::core::cuda

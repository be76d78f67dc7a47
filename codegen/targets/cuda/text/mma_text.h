// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores, by mma.sync.
#pragma once

#include <memory>

#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda {

std::unique_ptr<const ProductText> mma_text(const NestProgram& program, const ProductTile& tile);

}  // namespace graphc::core::cuda

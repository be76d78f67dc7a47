// SPDX-License-Identifier: Apache-2.0
// Products of matrix tiles on processors without tile registers: by the dot product of AVX-512
// BF16.
#pragma once

#include "codegen/targets/cpu/emit/emit_tile_product.h"
#include "codegen/targets/cpu/jit/code_module.h"

namespace graphc::core::cpu {

/// Fills in the function of define_tile_product(). A tile of the matrix has a vector for each pair
/// of terms, so the tiles are as they are for tile registers: each pair of terms of a row is
/// multiplied by those vectors, sums of eight rows or four held in registers while k runs.
void emit_dot_products(CodeModule& kernel, const TileProductLoop& loop, llvm::Function* function);

}  // namespace graphc::core::cpu

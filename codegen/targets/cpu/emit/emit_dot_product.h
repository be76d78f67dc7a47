// SPDX-License-Identifier: Apache-2.0
// Products of matrix tiles on processors without tile registers: uses the dot product of AVX-512
// BF16.
#pragma once

#include "codegen/targets/cpu/emit/emit_tile_product.h"
#include "codegen/targets/cpu/jit/code_module.h"

namespace graphc::core::cpu {

/// Emits the body of the function of define_tile_product(). A tile of the matrix has one vector for
/// each pair of terms, so the layout of tile registers serves here too. Each pair of terms of a row
/// is multiplied by those vectors; the sums of eight or four rows are held in registers while k
/// runs.
void emit_dot_products(CodeModule& kernel, const TileProductLoop& loop, llvm::Function* function);

}  // namespace graphc::core::cpu

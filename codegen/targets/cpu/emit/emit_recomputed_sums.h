// SPDX-License-Identifier: Apache-2.0
// Recomputes sums of products by matrix tiles where factors in several bf16 parts give no valid
// result.
#pragma once

#include "codegen/targets/cpu/emit/emit_tile_product.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// Stored sums of the terms of a call, and the totals that they are to be added to.
struct RecomputedSums {
  llvm::Value *sums = nullptr, *row_bytes = nullptr;
  /// The sums of the earlier terms or, for the first terms, the sums themselves.
  llvm::Value *total = nullptr, *total_row = nullptr;
  bool first = true;
};

/// Emits, at the builder's insertion point in a function of define_tile_product(), the correction
/// of the sums that it has stored. Sums that are not finite are recomputed from whole factors, term
/// by term on top of the total, so they equal what products of f32 give; the result is in the
/// total. Infinity times a part that is 0 is NaN, and a partial sum of parts may exceed the largest
/// number; neither is a property of the factors. The check costs a multiply-add for each vector of
/// sums.
void emit_recomputed_sums(CodeModule& kernel, llvm::IRBuilderBase& builder,
                          llvm::Function* tile_product, const TileProductLoop& loop,
                          const RecomputedSums& recomputed);

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles whose factors are sums of several bf16, where these have no answer.
#pragma once

#include "codegen/targets/cpu/emit/emit_tile_product.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// Sums of the terms of a call where they are stored, and what they are to be added to.
struct RecomputedSums {
  llvm::Value *sums = nullptr, *row_bytes = nullptr;
  /// What the terms before have come to, or, of the first terms, the sums themselves.
  llvm::Value *total = nullptr, *total_row = nullptr;
  bool first = true;
};

/// Emits, where the builder stands in a function of define_tile_product(), the mending of the sums
/// that it has stored: those that are not finite are computed anew from whole factors, term by term
/// behind the total, and so are what products of f32 give. They are in the total then. That
/// infinity times a part that is 0 is not a number, and that a partial sum of parts exceeds the
/// largest number, is no property of the factors. Looking costs a multiply-add for each vector of
/// sums.
void emit_recomputed_sums(CodeModule& kernel, llvm::IRBuilderBase& builder,
                          llvm::Function* tile_product, const TileProductLoop& loop,
                          const RecomputedSums& recomputed);

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
// The inner loops of products: sums of a tile held in registers while k runs.
#pragma once

#include "codegen/cpu/emit_internal.h"

namespace llvm {
class Function;
}

namespace graphc::cpu {

/// Bytes that a cache moves at a time, about: what is fetched ahead goes in such steps.
inline constexpr int64_t kLineBytes = 64;

/// What a product loop is specialised for.
struct ProductLoop {
  int lanes = 16;
  int rows = 1;         ///< height of the tile
  int vectors = 1;      ///< vectors of a row
  int64_t k_bytes = 0;  ///< from one k to the next in the panel
};

/// A function of its own for each loop, so that registers are given to the sums alone: beside the
/// body's constants the register allocator takes the loop over k for the colder code and spills
/// inside it.
///
///   void (ptr a, i64 a_row, i64 a_k, ptr panel, i64 k, ptr sums, i64 sums_row, i1 first,
///         ptr later, i64 later_step)
///
/// sums[m][v] = (first ? 0 : sums[m][v]) + (sum over k ascending of a[m * a_row + k * a_k] *
/// panel[k][v]). Meanwhile what is at later + k * later_step is brought to the second-level cache.
llvm::Function* define_product_loop(CodeModule& kernel, const ProductLoop& loop);

}  // namespace graphc::cpu

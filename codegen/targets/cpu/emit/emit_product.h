// SPDX-License-Identifier: Apache-2.0
// The inner loops of products: the sums of a tile are held in registers while k runs. They are
// generated once for all nests.
#pragma once

#include <string>
#include <vector>

#include "codegen/targets/cpu/jit/code_module.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// The loops for tiles of 1 to `rows` rows.
struct ProductLoops {
  int lanes = 16;
  int rows = 6;
  int vectors = 1;      ///< in a row
  int64_t k_bytes = 0;  ///< from one k to the next in the panel

  /// The symbol of the table of loops: "products_6x4_256".
  std::string symbol() const;
  bool operator==(const ProductLoops&) const = default;
};

/// Adds an exported constant, a table of functions: entry h is the loop for h + 1 rows. Each height
/// has its own function, so that registers hold only sums. Next to the constants of a body, the
/// register allocator would consider the loop over k the colder code and spill inside it.
///
///   void (ptr a, i64 a_row, i64 a_k, ptr panel, i64 k, ptr sums, i64 sums_row, i1 first,
///         ptr later, i64 later_step)
///
/// sums[m][v] = (first ? 0 : sums[m][v]) + (sum over k ascending of a[m * a_row + k * a_k] *
/// panel[k][v]). Meanwhile the lines at later + k * later_step are prefetched into the second-level
/// cache.
void emit_product_loops(CodeModule& module, const ProductLoops& loops);

/// Emits in another module a call of the loop for `rows` rows, an i64.
void call_product_loop(CodeModule& module, llvm::IRBuilderBase& builder, const ProductLoops& loops,
                       llvm::Value* rows, const std::vector<llvm::Value*>& arguments);

}  // namespace graphc::core::cpu

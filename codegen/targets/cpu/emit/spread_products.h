// SPDX-License-Identifier: Apache-2.0
// Interleaves products by matrix tiles with other instructions. LLVM's types appear by name only.
#pragma once

namespace llvm {
class BasicBlock;
}  // namespace llvm

namespace graphc::core::cpu {

/// In a block that begins with products by matrix tiles (AMX) and the loads of their tiles, spreads
/// these evenly among the instructions after them, in order. A processor looks ahead by about a
/// hundred waiting instructions, so products before or after a body of two hundred would not
/// overlap it. The tiles and the other instructions share no memory that either writes. A block
/// with fewer other instructions than products is unchanged, and so are calls that implement tiles
/// in software.
void spread_products(llvm::BasicBlock& block);

}  // namespace graphc::core::cpu

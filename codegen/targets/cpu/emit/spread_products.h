// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles among other instructions. LLVM's types appear by name only.
#pragma once

namespace llvm {
class BasicBlock;
}  // namespace llvm

namespace graphc::core::cpu {

/// Of a block that begins with products by matrix tiles (AMX), and the loads of their tiles,
/// spreads these evenly among the instructions behind them, in their order. A processor looks ahead
/// by about a hundred instructions that wait for others, so that products before or behind a body
/// of two hundred would have ended or not begun while it runs. Tiles and the rest share no memory
/// that either writes. A block with fewer others than products stays as it is, and so do calls that
/// stand for tiles in software.
void spread_products(llvm::BasicBlock& block);

}  // namespace graphc::core::cpu

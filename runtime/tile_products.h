// SPDX-License-Identifier: Apache-2.0
// The arithmetic of TDPBF16PS in software.
#pragma once

namespace graphc::core {

/// Adds the product of two tiles of bf16 to a tile of f32, in the layouts of
/// runtime/matrix_tiles.h. Bit-identical to the instruction: even and odd terms of k are added
/// separately from 0, each by a fused multiply-add; the two sums are joined, then added.
void multiply_tiles(char* sums, const char* left, const char* right);

}  // namespace graphc::core

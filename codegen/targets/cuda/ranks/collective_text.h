// SPDX-License-Identifier: Apache-2.0
// Kernels around the exchanges of ranks: sums in the tree of runtime/ranks/tree.h, and copies.
#pragma once

#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// to[i] = the sum of term_0[i], term_1[i] ..., added as `from` and stored as `to`; zeros from
/// `count` to `padded`. Parameters: the terms, to, count, padded.
KernelText terms_kernel(int terms, DType from, DType to);

/// to[i] = the sum of parts[r * apart + i] over r, as Ranks::all_reduce has it: values that are
/// `sent` as bf16 are added as f32, and the sum is rounded to bf16. Stored as `to`. Parameters:
/// parts, to, count, apart.
KernelText parts_kernel(int parts, DType sent, DType to);

/// to[i] = from[i]. Parameters: from, to, count.
KernelText copied_kernel(DType from, DType to);

/// The grid of these kernels over so many elements.
Grid elements_grid(int64_t count);

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// Loops whose steps are launches: products of many rows and columns are pipelined there
// (text/pipelined_form.h) and fill the GPU by themselves, which those of a loop's kernel do not
// (docs/decisions/0041).
#pragma once

#include <string>

#include "codegen/targets/cuda/loops/loop_kernel.h"

namespace graphc::core::cuda {

/// The multiplications and additions of the products of all steps of a loop of nests alone.
int64_t multiply_adds_of(const LoopCall& loop);

/// How long all steps of an outermost loop of nests alone take in launches and in its kernel, as
/// text, if launches are faster by so much that the speed model can tell, and not more than 4,096.
/// Else empty.
std::string why_in_launches(const Plan& plan, const LoopCall& loop, const LoopKernel& whole,
                            const Gpu& gpu);

}  // namespace graphc::core::cuda

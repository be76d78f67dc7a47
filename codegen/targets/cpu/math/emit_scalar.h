// SPDX-License-Identifier: Apache-2.0
// LLVM code of single scalar operations on vectors.
#pragma once

#include <span>

#include "codegen/targets/cpu/jit/code_module.h"
#include "ir/scalar.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace graphc::core::cpu {

/// The LLVM type of a vector of `lanes` elements in registers: bool is i1, bf16 is the f32 whose
/// upper half it is.
llvm::Type* vector_type(llvm::IRBuilderBase& builder, DType dtype, int lanes);

/// x rounded to the nearest bf16, ties to even, still as f32; a vector or a scalar. NaN stays NaN.
llvm::Value* rounded_to_bf16(llvm::IRBuilderBase& builder, const CpuFeatures& cpu, llvm::Value* x);

/// Emits `op` with a result of `dtype` on vectors of `operand_dtype` (that of the first operand
/// that is not a condition). The operation must be supported (codegen/targets/cpu/support.h).
/// Operations on bf16 are computed in f32, and each result is rounded.
llvm::Value* emit_scalar(llvm::IRBuilderBase& builder, const CpuFeatures& cpu, ScalarOp op,
                         DType dtype, DType operand_dtype, std::span<llvm::Value* const> operands);

}  // namespace graphc::core::cpu

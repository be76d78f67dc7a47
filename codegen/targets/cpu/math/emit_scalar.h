// SPDX-License-Identifier: Apache-2.0
// LLVM code of single scalar operations on vectors: how the CPU target reads scalar programs.
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

/// The LLVM type of a vector of `lanes` elements in registers: bool is i1, bf16 is the f32 that it
/// is the upper half of.
llvm::Type* vector_type(llvm::IRBuilderBase& builder, DType dtype, int lanes);

/// The nearest bf16 of f32, a vector or a number: ties to even, as f32 still. What is not a number
/// stays so.
llvm::Value* rounded_to_bf16(llvm::IRBuilderBase& builder, const CpuFeatures& cpu, llvm::Value* x);

/// Emits `op` with a result of `dtype` on vectors of `operand_dtype` (that of the first operand
/// that is not a condition). There must be code for it (codegen/targets/cpu/support.h). What is
/// bf16 is computed in f32 and rounded, each operation by itself.
llvm::Value* emit_scalar(llvm::IRBuilderBase& builder, const CpuFeatures& cpu, ScalarOp op,
                         DType dtype, DType operand_dtype, std::span<llvm::Value* const> operands);

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
// Scalar operations as CUDA text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/scalar.h"

namespace graphc::core::cuda {

/// The expression for one operation on values of `operand_dtype` (for select: that of its second
/// operand) with a result of `dtype`. The operands are names or parenthesised expressions.
/// Functions that it calls, other than CUDA's, are among helpers_of().
std::string scalar_text(ScalarOp op, DType dtype, DType operand_dtype,
                        std::span<const std::string> operands);

/// A number as a literal of the type used in computation.
std::string literal_text(DType dtype, double value);

/// Converts a value in memory to its form in a register, and back.
std::string loaded_text(DType dtype, const std::string& element);
std::string stored_text(DType dtype, const std::string& value);

/// The device functions that `text` calls, to be placed before it.
std::string helpers_of(std::string_view text);

}  // namespace graphc::core::cuda

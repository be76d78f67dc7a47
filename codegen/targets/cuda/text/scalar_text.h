// SPDX-License-Identifier: Apache-2.0
// Scalar operations as CUDA text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/scalar.h"

namespace graphc::core::cuda {

/// The expression for one operation on values of `operand_dtype` (of select: of its second operand)
/// that gives `dtype`. The operands are names or expressions in parentheses. What it calls besides
/// CUDA's own functions is among helpers_of().
std::string scalar_text(ScalarOp op, DType dtype, DType operand_dtype,
                        std::span<const std::string> operands);

/// A number as a literal of the type it is computed with.
std::string literal_text(DType dtype, double value);

/// What a value in memory is in a register, and the other way round.
std::string loaded_text(DType dtype, const std::string& element);
std::string stored_text(DType dtype, const std::string& value);

/// The device functions that `text` calls, to stand in front of it.
std::string helpers_of(std::string_view text);

}  // namespace graphc::core::cuda

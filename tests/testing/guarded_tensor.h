// SPDX-License-Identifier: Apache-2.0
// Tensors between guard pages, to detect accesses out of bounds.
#pragma once

#include "runtime/tensor.h"

namespace graphc::core::testing {

/// The position of a tensor in its pages: at their start, or ending at their end. The pages before
/// and after fault when accessed. The rest of the tensor's pages holds a pattern.
enum class Guard { before, behind };

/// A tensor between guards with all bytes 0x7f. With Guard::behind it may start at any multiple of
/// its element size.
Tensor guarded_tensor(const Type& type, Guard guard);

/// A guarded tensor with the literal's elements.
Tensor guarded_tensor(const Literal& literal, Guard guard);

/// Whether the pattern around a guarded tensor is unchanged.
bool intact_around(const Tensor& tensor);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Tensors between pages that may not be touched, to find reads and writes outside them.
#pragma once

#include "runtime/tensor.h"

namespace graphc::core::testing {

/// Where in its pages a tensor lies: at their very beginning, or so that it ends where they end.
/// The page before and the page behind fault when they are read or written. What is left of the
/// pages holds a pattern.
enum class Guard { before, behind };

/// A tensor whose bytes are all 0x7f, between guards. Guarded behind it begins at any multiple of
/// its element's size.
Tensor guarded_tensor(const Type& type, Guard guard);

/// A guarded tensor with the literal's elements.
Tensor guarded_tensor(const Literal& literal, Guard guard);

/// Whether the pattern around a guarded tensor is as it was.
bool intact_around(const Tensor& tensor);

}  // namespace graphc::core::testing

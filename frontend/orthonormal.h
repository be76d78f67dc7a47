// SPDX-License-Identifier: Apache-2.0
// Random orthonormal vectors, computed by host code: as a graph they would need an iteration over
// the whole matrix.
#pragma once

#include <cstdint>

#include "ir/literal.h"

namespace graphc::core {

/// An f32 matrix times `gain` with orthonormal rows or columns, whichever are fewer, distributed by
/// Haar measure: a normal matrix drawn from `key`, orthonormalised row by row in f64 with the
/// Gram-Schmidt process, the last rows twice (Giraud et al., "Rounding error analysis of the
/// classical Gram-Schmidt orthogonalization process", 2005). The bits do not depend on the number
/// of threads, which is at least 1.
Literal orthonormal_matrix(int64_t key, const Shape& shape, double gain, int threads);

}  // namespace graphc::core

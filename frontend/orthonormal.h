// SPDX-License-Identifier: Apache-2.0
// Random orthonormal vectors, by code that is compiled with graphc: a graph has no operation that
// would find them without an iteration over the whole matrix.
#pragma once

#include <cstdint>

#include "ir/literal.h"

namespace graphc::core {

/// An f32 matrix of the shape, times `gain`, whose rows or columns, whichever are fewer, are
/// orthonormal and equally likely in every direction (Haar's measure): a normal matrix drawn under
/// `key`, made orthonormal row by row in f64 by Gram and Schmidt's process, the last rows twice
/// (Giraud et al., "Rounding error analysis of the classical Gram-Schmidt orthogonalization
/// process", 2005). The bits do not depend on the number of threads, which is at least 1.
Literal orthonormal_matrix(int64_t key, const Shape& shape, double gain, int threads);

}  // namespace graphc::core

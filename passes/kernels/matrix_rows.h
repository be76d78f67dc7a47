// SPDX-License-Identifier: Apache-2.0
// Loops whose rows carry a matrix: a cell with the state [rows, K, V].
#pragma once

#include <span>

#include "ir/graph.h"
#include "ir/scan.h"

namespace graphc::core {

/// The rows of those of a loop's carries that are a matrix in every row, of the highest rank that
/// there is: [batch, heads] for a carry [batch, heads, K, V], also beside one [batch, heads, K]. []
/// if there is none, or if they differ in their rows. Where the step multiplies [heads, batch, n]
/// by matrices of the heads, values of that rank are vectors.
Shape matrix_rows(const Scan& scan);
/// The same of some of its carries.
Shape matrix_rows(const Scan& scan, std::span<const Value> carries);
/// Whether its carries have the shape of a matrix in every row, if only as vectors of heads.
bool carries_matrix_shapes(const Scan& scan);
/// Whether values of the shape are a matrix in every one of `rows`: [rows, K, V].
bool is_matrix_of(const Shape& rows, const Shape& shape);
/// The number of axes of matrix_rows().
inline int matrix_row_axes(const Scan& scan) { return matrix_rows(scan).rank(); }

/// The step of a scan that has matrix_rows(), in a form that makes few kernels over the same rows:
///
/// - An elementwise value of one number per row gets a last axis of extent 1; one of a number per
///   row of a matrix, [..., K, 1], loses it. Then K is its columns. One of all heads side by side,
///   [batch, heads * V], gets the rows [batch, heads].
/// - Every reader of a cheap elementwise matrix has a copy of the node, if it computes the matrix
///   from one other matrix and from values that are the same along its rows or columns. To read
///   that matrix takes no longer than to read the result, which then need not be stored: S * decay.
GraphPtr with_matrix_rows(const Scan& scan);

}  // namespace graphc::core

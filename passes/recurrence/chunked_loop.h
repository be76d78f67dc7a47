// SPDX-License-Identifier: Apache-2.0
// The loop over chunks of steps of a matrix that every row carries (Yang et al., Parallelizing
// Linear Transformers with the Delta Rule over Sequence Length, 2024, for any linear form).
//
// With S the matrix before a chunk, D the decays, and i, j steps of the chunk, a step's matrix is
//
//     S_i = D_i S + sum over j < i and over writes n of (D_i / D_j) x_nj u_nj'
//
// so that a read a_i + S_i' y_i is a_i + (D_i y_i)' S + the products of y_i with earlier x_nj times
// u_nj. At most one write may itself read the matrix, u = a + S' y: the u of all steps of a chunk
// are then the solution of a triangular system, whose inverse needs no matrix. What is left to do
// in order is, for each chunk, a few products.
#pragma once

#include <string>

#include "passes/recurrence/chunk_products.h"
#include "passes/recurrence/coefficients.h"

namespace graphc::core {

/// Why the carry cannot be computed in chunks; empty if it can.
std::string why_not_in_chunks(const LinearCarry& carry);

struct ChunkedCarry {
  Values reads;  ///< [steps, rows, values], for each read of the carry
  Value final;   ///< of the carry's shape
};
/// `initial` is of the carry's shape.
ChunkedCarry chunked_carry(const LinearCarry& carry, const AxesOfRows& axes, const Chunks& chunks,
                           Value initial);

}  // namespace graphc::core

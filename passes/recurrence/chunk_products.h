// SPDX-License-Identifier: Apache-2.0
// What the steps of a chunk have to do with each other, without the matrix that the chunk starts
// from. Arrays are [chunks, rows, steps of a chunk, ...].
#pragma once

#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// How a loop is divided.
struct Chunks {
  int64_t steps = 0;   ///< of the loop
  int64_t length = 0;  ///< of a chunk
  int64_t rows = 0;
  bool reverse = false;

  int64_t count() const { return (steps + length - 1) / length; }
  /// A coefficient (linear_form.h) in the order of the steps taken: [chunks, rows, length, width].
  /// Steps after the last are filled up with `filler`.
  Value of_steps(Value coefficient, int64_t width, double filler) const;
  /// The inverse, for a value of each step: [steps, rows, width].
  Value to_steps(Value chunks) const;
};

/// The products that decays make inside a chunk. With d_i the decay of step i and i from 0:
struct ChunkProducts {
  /// [read][write] of y_i . (d_(j+1) ... d_(i-1) x_j) for j < i, else 0: [..., i, j].
  std::vector<Values> weights;
  Values reads;   ///< d_0 ... d_(i-1) y_i: [..., i, keys]
  Values writes;  ///< d_(i+1) ... d_(length-1) x_i: [..., i, keys]
  Value decay;    ///< d_0 ... d_(length-1): [..., 1, 1]
};
/// `decay` [..., length, 1] or [..., length, keys]; absent: it is 1. `reads` y and `writes` x, of
/// which there is one at least, are [..., length, keys]. Products of decays are computed as
/// products, without logarithms or quotients: a decay may be 0.
ChunkProducts chunk_products(Value decay, const Values& reads, const Values& writes);

/// (I - l)^-1 of strictly lower triangular matrices l [..., n, n], with about 2.7 n^3 additions and
/// multiplications: powers of two of blocks of 16, and products of blocks.
Value inverse_of_unit_lower(Value l);

}  // namespace graphc::core

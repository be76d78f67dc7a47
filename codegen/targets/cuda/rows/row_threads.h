// SPDX-License-Identifier: Apache-2.0
// How the threads of a block divide the matrix of a row.
#pragma once

#include <cstdint>

#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/rows/row_division.h"

namespace graphc::core::cuda {

/// One axis of the matrix. A row's blocks have a part of `extent` elements each. The threads along
/// it are lanes of a warp, and warps. Thread t of n has the elements t, t + n, t + 2 n, ... of the
/// part.
struct ThreadAxis {
  int64_t extent = 0;
  int64_t parts = 1;
  int lanes = 1, warps = 1;

  int threads() const { return lanes * warps; }
  /// Elements of a thread.
  int64_t elements() const { return (extent + threads() - 1) / threads(); }
  bool is_exact() const { return extent % threads() == 0; }
};

struct RowThreads {
  ThreadAxis rows, columns;
  Division division;  ///< of rows that several blocks divide; else empty
  int count() const { return rows.threads() * columns.threads(); }
  int64_t parts() const { return rows.parts * columns.parts; }
  const ThreadAxis& axis(Spread spread) const { return spread == Spread::by_row ? rows : columns; }
  /// Elements of a value that a thread has.
  int64_t elements(Spread spread) const;
  /// Registers that a thread may have, and an estimate of those that it needs: for all values, and
  /// for those that are loaded so many steps ahead.
  int64_t most_registers() const;
  int64_t registers(const RowLoop& loop, int matrices_ahead = 0, int vectors_ahead = 1) const;
};

/// Elements of a matrix that a thread has in registers at most; its loops over them are written
/// out.
inline constexpr int64_t kMostElements = 32;

/// At most kMostElements of the matrix a thread, as far as a block has threads. An axis may be
/// divided among blocks if it can be (row_division.h), at most as many as a GPU runs at a time.
/// Sums over an axis cross its lanes by shuffles, and its warps through shared memory and a
/// barrier. The division is the one of which a step takes the shortest time by a model of
/// instructions, shuffles, lines of memory and latencies: more threads have shorter sums, and start
/// more instructions for addresses and shuffles.
RowThreads row_threads(const Plan& plan, const RowLoop& loop, const Gpu& gpu);

/// An estimate of what a step takes.
struct RowStep {
  double us = 0;     ///< of a block, if it never waits for memory
  double bytes = 0;  ///< that all blocks load and store
};
RowStep row_step(const Plan& plan, const RowLoop& loop, const RowThreads& threads, const Gpu& gpu);

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// What the kernel of a record computes and moves: what a model of its speed is made of.
#pragma once

#include "codegen/targets/cuda/loops/loop_placement.h"

namespace graphc::core::cuda {

/// One execution of a nest.
struct NestWork {
  double blocks = 0;      ///< of threads; 0: there is nothing to do
  double flop = 0;        ///< multiplications and additions of products
  double operations = 0;  ///< of all elements besides; an elementary function counts as a few
  bool is_f64 = false;    ///< the products
  Factors factors = Factors::as_stored;  ///< of products on tensor cores; as stored: of none
  double bytes = 0;                      ///< at its addresses, each once
  double moving_bytes = 0;  ///< those whose address moves with the loop at the depth asked about
  double ingest_bytes = 0;  ///< that its blocks read and write, together: a tile's operands again
                            ///< in each block, but for what a block keeps in shared memory
  double shared_bytes = 0;  ///< that its threads read of shared memory
  double waits = 0;         ///< how often a block waits for what it has loaded
};

/// `depth` is that of the loop around it, -1 for none. `placement`, unless null, is that loop's,
/// in which the call is nest number `nest`: then its blocks do it, each its own rows and columns.
NestWork work_of(const Plan& plan, const NestCall& call, int depth = -1,
                 const LoopPlacement* placement = nullptr, size_t nest = 0);

/// Whether a call has nothing to do, and so is no nest of its loop's kernel.
bool is_empty_nest(const Plan& plan, const NestCall& call);

/// Bytes that a table's record reads and writes.
double bytes_of(const TableCall& call);

}  // namespace graphc::core::cuda

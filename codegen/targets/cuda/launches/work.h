// SPDX-License-Identifier: Apache-2.0
// The computation and data movement of a record's kernel: the input of the speed model.
#pragma once

#include "codegen/targets/cuda/loops/loop_placement.h"

namespace graphc::core::cuda {

/// One execution of a nest.
struct NestWork {
  double blocks = 0;  ///< thread blocks; 0: nothing to do
  double flop = 0;    ///< multiplications and additions of products
  /// In which a block multiplies, with rows and columns that are not there; 0: as `flop` says.
  double product_cycles = 0;
  double operations = 0;  ///< besides products; an elementary function counts as several
  bool is_f64 = false;    ///< whether the products are f64
  Factors factors = Factors::as_stored;  ///< of products on tensor cores; else as_stored
  double bytes = 0;                      ///< accessed in memory, each address once
  double moving_bytes = 0;  ///< those whose address moves with the loop at the given depth
  /// Read and written by its blocks in total. A tile's operands count once for each block, except
  /// those that a block keeps in shared memory.
  double ingest_bytes = 0;
  double shared_bytes = 0;  ///< read by its threads from shared memory
  double waits = 0;         ///< how often a block waits for its loads
  /// The same for loads several stages ahead, which cost time only where they take longer than all
  /// else.
  double waits_ahead = 0;
  double blocks_beside = 2;  ///< most blocks of a product's kernel on a multiprocessor
};

/// Of a nest in the kernel of a loop, which `depth` loops are around. `placement`, unless null, is
/// that of the loop, in which the call is nest number `nest`; then the loop's blocks execute it,
/// each its own rows and columns.
NestWork work_of(const Plan& plan, const NestCall& call, int depth,
                 const LoopPlacement* placement = nullptr, size_t nest = 0);
/// Of a nest that is a launch of its own, whose blocks have so many bytes of shared memory.
NestWork launched_work_of(const Plan& plan, const NestCall& call, int64_t shared_bytes);

/// Whether a call has nothing to do and so is not part of its loop's kernel.
bool is_empty_nest(const Plan& plan, const NestCall& call);

/// Bytes that a record of a table reads and writes.
double bytes_of(const TableCall& call);

}  // namespace graphc::core::cuda

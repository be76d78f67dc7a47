// SPDX-License-Identifier: Apache-2.0
// Where the matrices of a loop lie while its kernel runs, and which block does what of a step.
//
// A recurrence multiplies by the same matrices in every step. Read from memory each time they cost
// more than all else; what is left when they stay on the chip is the exchange of what a step hands
// on (Diamos et al., "Persistent RNNs", ICML 2016). Four placements:
//
//   streamed  every step reads them through the cache; blocks share each nest out anew, and wait
//             after it. For any loop of nests.
//   grid      each block owns columns, of all rows or of a group of rows, and keeps the columns of
//             the matrices that make them in shared memory; blocks wait where one reads what
//             another has written (loop_barriers.h), those of a group of rows among themselves.
//   cluster   the same, where the blocks of a group of rows are a cluster of the hardware, from
//             sm_90 on, and hold all of the matrices: they use its barrier, hand each other
//             left operands through their shared memory (loop_exchange.h), and groups of rows need
//             not run at the same time.
//   block     each block owns rows and keeps whole matrices; blocks never wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"
#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/options.h"
#include "codegen/targets/cuda/text/nest_parameters.h"

namespace graphc::core::cuda {

/// What a kernel is told to be in its text, without numbers: texts for other extents are the same.
std::string_view comment_of(Placement placement);

/// A matrix that a block keeps in shared memory: of each of its tiles of columns [k][parts][width].
struct HeldMatrix {
  size_t nest = 0, product = 0;
  int64_t offset = 0;  ///< elements into the shared memory
  int64_t elements = 0;
};

/// A left operand that a block keeps in shared memory twice: as of this step, and as of the next.
struct ExchangedOperand {
  Exchange exchange;
  int64_t offset = 0;    ///< elements into the shared memory
  int64_t elements = 0;  ///< once
};

/// How a nest stands in a placed loop.
struct NestShare {
  NestForm form;
  Owner owner = Owner::element;
  int64_t columns_of_block = 0;
};

struct LoopPlacement {
  Placement placement = Placement::streamed;
  int64_t row_groups = 1;     ///< of blocks; each group shares out the columns of its rows
  int64_t column_groups = 1;  ///< blocks of a group
  std::vector<NestShare> nests;
  std::vector<bool> barrier_after;  ///< by nest
  std::vector<HeldMatrix> held;
  std::vector<ExchangedOperand> exchanged;  ///< in clusters
  int64_t staging = 0;       ///< elements into the shared memory, where the pieces of operands lie
  int64_t shared_bytes = 0;  ///< of a block
  DType dtype = DType::f32;  ///< of what lies in shared memory
  double step_us = 0;        ///< of a step, as the model has it

  int64_t blocks() const { return row_groups * column_groups; }
  int64_t rows_of_block(int64_t rows) const { return (rows + row_groups - 1) / row_groups; }
  bool meets() const;
  /// Whether its barriers are words of memory, so that all blocks must run at a time.
  bool has_memory_barrier() const { return meets() && placement != Placement::cluster; }
  /// Blocks of a cluster of its launch.
  int64_t cluster() const { return placement == Placement::cluster ? column_groups : 1; }
  /// "4 x 32 blocks own rows x columns; u.panels in shared memory (164864 bytes a block); 1 barrier
  /// a step".
  std::string describe(const LoopNests& nests) const;
};

/// The placement with the least time for a step by a model of the GPU: products at the rate that
/// operands come from shared memory, what is read from the cache, the latency of each piece, and
/// barriers. `wanted` limits it to placements of that kind; where the loop can have none of those,
/// it is streamed. Nothing: any. Throws ErrorKind::resource where clusters are wanted and the
/// loop's matrices do not fit.
LoopPlacement place_loop(const LoopNests& nests, const Gpu& gpu, std::optional<Placement> wanted);

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// Where the matrices of a loop are kept while its kernel runs, and how blocks divide the work of a
// step.
//
// A recurrence multiplies by the same matrices in every step. Reading them from memory each time
// costs more than everything else. If they stay on the chip, what remains is the exchange of the
// values that a step passes on (Diamos et al., "Persistent RNNs", ICML 2016). Five placements:
//
//   streamed  every step reads them through the cache; blocks divide each nest anew and wait
//             after it. For any loop of nests.
//   grid      each block owns columns, of all rows or of a group of rows, and keeps the columns of
//             the matrices that compute them in shared memory; blocks wait where one reads what
//             another has written (loop_barriers.h), those of a group of rows among themselves.
//             Of a nest with axes around its rows a block owns indices of these instead.
//   cluster   the same, where the blocks of a group of rows are a hardware cluster, from sm_90 on,
//             and hold all of the matrices: they use its barrier, exchange left operands through
//             their shared memory (loop_exchange.h), and groups of rows need not run at the same
//             time.
//   block     each block owns rows and keeps whole matrices; blocks never wait.
//   rows      for rows that carry a matrix of their own: each block takes one row through all
//             steps, with the matrix in registers (rows/row_kernel.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/loops/loop_barriers.h"
#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/options.h"
#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_parameters.h"

namespace graphc::core::cuda {

/// A matrix that a block keeps in shared memory: for each of its tiles of columns
/// [k][parts][width].
struct ResidentMatrix {
  size_t nest = 0, product = 0;
  int64_t offset = 0;  ///< elements from the start of the shared memory
  int64_t elements = 0;
};

/// A left operand that a block keeps in shared memory twice: for this step and for the next one.
struct ExchangedOperand {
  Exchange exchange;
  int64_t offset = 0;    ///< elements from the start of the shared memory
  int64_t elements = 0;  ///< of one copy
};

/// The share of a block in a nest of a placed loop.
struct NestShare {
  NestForm form;
  Owner owner = Owner::element;
  int64_t columns_of_block = 0;
};

/// The indices of the axes around the rows of a nest; 1 if there are none.
int64_t outer_indices(const NestCall& call);

struct LoopPlacement {
  Placement placement = Placement::streamed;
  int64_t groups = 1;      ///< of rows, with blocks and matrices of their own (loop_groups.h)
  int64_t row_groups = 1;  ///< of blocks, for each of those; each divides the columns of its rows
  int64_t column_groups = 1;  ///< blocks per group
  std::vector<NestShare> nests;
  std::vector<bool> barrier_after;  ///< by nest
  std::vector<ResidentMatrix> resident;
  std::vector<ExchangedOperand> exchanged;  ///< in clusters with barriers
  /// In loops that exchange fragments, and instead of `resident` and `exchanged`; null for others,
  /// and then `not_counted` says of clusters why.
  std::shared_ptr<const CountedLoop> counted;
  std::string not_counted;
  int64_t staging = 0;       ///< offset, in elements, of the pieces of operands in shared memory
  int64_t shared_bytes = 0;  ///< per block
  DType dtype = DType::f32;  ///< of the data in shared memory
  double step_us = 0;        ///< time of a step by the model
  double step_bytes = 0;     ///< that a step loads and stores (Placement::rows)
  std::pair<int64_t, int64_t> matrix;  ///< extents of what a row carries (Placement::rows)

  int64_t blocks() const { return groups * row_groups * column_groups; }
  int64_t rows_of_block(int64_t rows) const { return (rows + row_groups - 1) / row_groups; }
  /// The rows of a nest that a block owns for all columns (Owner::row), at most.
  int64_t whole_rows_of_block(int64_t rows) const {
    return (rows_of_block(rows) + column_groups - 1) / column_groups;
  }
  /// How many indices of the axes around the rows of a nest a block goes through.
  int64_t turns_of_block(const NestCall& call) const;
  bool meets() const;
  /// Whether its barriers are words of memory, so that all blocks must run at the same time.
  bool has_memory_barrier() const { return meets() && placement != Placement::cluster; }
  /// Whether blocks write into each other's shared memory after the last barrier of a step.
  bool stores_after_barriers() const;
  /// Bytes of memory through which its blocks exchange.
  int64_t exchange_bytes() const;
  /// How often the GPU is filled with its blocks: those that it does not hold run in further
  /// rounds.
  int64_t rounds(const Gpu& gpu) const;
  /// The comment in a kernel's text. It has no numbers, so that texts for other extents are equal.
  std::string_view comment() const;
  /// How the threads of a block, side by side and one below the other, share its elements of a nest
  /// with this grid, unless the exchange is counted.
  std::pair<unsigned, unsigned> threads_of(size_t nest, const NestProgram& program,
                                           const Grid& grid, unsigned threads) const;
  /// Blocks per cluster of its launch.
  int64_t cluster() const { return placement == Placement::cluster ? column_groups : 1; }
  /// "4 x 32 blocks own rows x columns; u.panels in shared memory (164864 bytes a block); 1 barrier
  /// a step".
  std::string describe(const LoopNests& nests) const;

 private:
  std::string text_of_blocks() const;
  std::string text_of_barriers() const;
  std::string describe_counted(const LoopNests& nests) const;
};

/// The placement with the shortest step by a model of the GPU: products at the rate at which
/// operands come from shared memory, reads from the cache, the latency of each piece, and barriers.
/// `wanted` limits the choice to placements of that kind; a loop that cannot have one is streamed.
/// Empty: any kind. Throws ErrorKind::resource if clusters are wanted and the loop's matrices do
/// not fit.
LoopPlacement place_loop(const LoopNests& nests, const Gpu& gpu, std::optional<Placement> wanted);

}  // namespace graphc::core::cuda

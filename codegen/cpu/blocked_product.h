// SPDX-License-Identifier: Apache-2.0
// One product in blocks that stay in the caches: the loops around a nest whose right operand is not
// in panels yet.
//
//   rows in chunks              sums of a chunk wait in memory of the thread
//     k in pieces               every element still has one sum with k ascending
//       left operand            copied, if its rows lie across memory, into groups of rows
//       columns in blocks       the right operand's block becomes a panel in the second-level cache
//         groups of rows        the nest
#pragma once

#include "codegen/cpu/nest_abi.h"
#include "codegen/cpu/panels.h"
#include "codegen/cpu/scratch.h"
#include "codegen/plan/schedule.h"

namespace graphc::cpu {

class BlockedProduct {
 public:
  /// Runs `nest` (of one product) over the rows and columns of `whole`. `right` is the whole
  /// matrix: its `columns` are all there are, its width that of a block.
  void run(NestFunction nest, const PanelSource& right, const NestArguments& whole);

 private:
  struct Piece {
    int64_t first = 0, k = 0;
    bool last = false;
  };

  void run_piece(NestFunction nest, const PanelSource& right, const NestArguments& whole,
                 const Range& rows, const Piece& piece);
  /// Copies rows of the left operand to groups [group][k][kGroupRows].
  void pack_left(const NestProductArguments& left, const Range& rows, const Piece& piece);

  Scratch panel_, left_, sums_;
};

}  // namespace graphc::cpu

// SPDX-License-Identifier: Apache-2.0
// One product in blocks that stay in the caches: the loops around a nest whose right operand is not
// yet in panels.
//
//   rows in chunks              the sums of a chunk are kept in memory of the thread
//     k in pieces               every element still has one sum with k ascending
//       left operand            packed into groups of rows if rows are the contiguous axis
//       columns in groups       blocks of the right operand become panels in the second-level cache
//         groups of rows        the nest: a tile of rows is read once for all panels of the group
#pragma once

#include "codegen/step/share.h"
#include "codegen/walk/nest_abi.h"
#include "codegen/walk/panels.h"
#include "codegen/walk/scratch.h"

namespace graphc::core::cpu {

class BlockedProduct {
 public:
  /// Runs `nest` (of one product) over the rows and columns of `whole`. `right` describes the whole
  /// matrix: `columns` counts all of its columns, `width` is that of a block.
  void run(NestFunction nest, const PanelSource& right, const NestArguments& whole);

 private:
  struct Piece {
    int64_t first = 0, k = 0;
    bool last = false;
    int64_t together = 1;  ///< panels in a group
  };

  /// Rows of the left operand in the layout that nests read, for one piece.
  struct LeftRows {
    const char* base = nullptr;  ///< the first row at the piece's first k
    int64_t row = 0, k = 0;      ///< bytes to the next
    int64_t together = 0;        ///< rows per call
    int64_t group = 0;           ///< bytes from the rows of one call to those of the next
  };

  void run_piece(NestFunction nest, const PanelSource& right, const NestArguments& whole,
                 const Range& rows, const Piece& piece);
  /// Packs the blocks of the columns into consecutive panels.
  static void make_group(const PanelSource& right, const Piece& piece, const Range& columns,
                         char* panels);
  /// The rows in place, or a packed copy where their layout is unsuitable.
  LeftRows left_rows(const NestProductArguments& left, const Range& rows, const Piece& piece);
  /// Copies rows of the left operand to groups [group][k][kGroupRows].
  const float* pack_left(const NestProductArguments& left, const Range& rows, const Piece& piece);

  Scratch panels_, left_, sums_;
};

}  // namespace graphc::core::cpu

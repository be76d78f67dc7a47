// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles in blocks that stay in the caches: the loops around a nest whose left
// operands are f32 or bf16 as they lie, and become tiles of bf16 here.
//
//   rows in chunks                tiles of the left operands fit memory of the thread
//     k in pieces                 every element still has one sum with k ascending; the sums of a
//                                 span of columns wait
//       left operands             put into tiles
//       columns in groups         matrices that are not in panels become panels, for a part of the
//         rows in parts           second-level cache; a part of the left tiles has the rest
//           the nest
#pragma once

#include <span>
#include <vector>

#include "codegen/cpu/nest_abi.h"
#include "codegen/cpu/panels.h"
#include "codegen/cpu/scratch.h"
#include "codegen/plan/schedule.h"

namespace graphc::cpu {

/// A product of a call by matrix tiles.
struct TiledOperand {
  NestProductArguments product;  ///< the left operand as it lies; panels, if there are
  DType left = DType::f32;
  PanelSource right;  ///< the whole matrix, in blocks of its width
  bool in_panels = false;
};

/// Writes a block as a panel of PanelForm for matrix tiles.
void make_tile_panel(const PanelSource& source, void* panel);

class TiledProduct {
 public:
  /// Runs `nest` over the rows and columns of `whole`, whose products are `operands`.
  void run(NestFunction nest, std::span<const TiledOperand> operands, const NestArguments& whole);

 private:
  /// Some of the terms of the only operand.
  struct Piece {
    int64_t first = 0, k = 0;
  };

  /// The same for one operand of many terms and no panels: spans of columns, whose sums fit memory
  /// of the thread, and pieces of k.
  void run_pieces(NestFunction nest, std::span<const TiledOperand> operands,
                  const NestArguments& whole);

  /// All terms where `piece` is null.
  void run_piece(NestFunction nest, std::span<const TiledOperand> operands,
                 const NestArguments& chunk, const Piece* piece);
  void pack_left(std::span<const TiledOperand> operands, const Range& rows, const Piece* piece);
  /// Panels of the blocks of columns from `columns.begin` on, for those that have none.
  void pack_right(std::span<const TiledOperand> operands, const Range& columns, const Piece* piece);

  std::vector<NestProductArguments> products_;
  std::vector<Scratch> left_, right_;
  Scratch sums_;
};

}  // namespace graphc::cpu

// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles in blocks that stay in the caches: the loops around a nest whose left
// operands are f32 or bf16 as they lie, and become tiles of bf16 here.
//
// All terms at a time:
//
//   panels                        of all columns, where these are few enough for the second-level
//                                 cache
//   rows in chunks                whose left tiles are made: as many as stay in that cache, or more
//                                 where panels come anew for each chunk
//     columns in groups           of panels that were there, or are made here
//       rows                      whose left tiles stay in the second-level cache
//         the nest
//
// Many terms of a matrix that is in no panels, in pieces of k (every element still has one sum with
// k ascending):
//
//   rows in chunks                whose left tiles are made once
//     columns in spans            whose sums stay in the second-level cache
//       pieces
//         panels of the span
//         the nest                goes on with the sums
#pragma once

#include <span>
#include <vector>

#include "codegen/step/share.h"
#include "codegen/walk/nest_abi.h"
#include "codegen/walk/panels.h"
#include "codegen/walk/scratch.h"

namespace graphc::core::cpu {

/// A product of a call by matrix tiles.
struct TiledOperand {
  NestProductArguments product;  ///< the left operand as it lies; panels, if there are
  DType left = DType::f32;
  PanelSource right;  ///< the whole matrix, in blocks of its width
  bool in_panels = false;
};

/// Writes blocks as panels of PanelForm for matrix tiles. Of `source`, `base` is at the first of
/// these blocks, `columns` are those of the whole matrix.
void make_tile_panels(const PanelSource& source, const Range& blocks, void* panels);

class TiledProduct {
 public:
  /// Runs `nest` over the rows and columns of `whole`, whose products are `operands`.
  void run(NestFunction nest, std::span<const TiledOperand> operands, const NestArguments& whole);

 private:
  /// Some of the terms.
  struct Piece {
    int64_t first = 0, k = 0;
  };

  /// Where left tiles are, whether they still have to be made, and whether they are needed again.
  struct LeftTiles {
    char* at = nullptr;
    bool make = true, keep = false;
  };

  void run_whole(NestFunction nest, std::span<const TiledOperand> operands, NestArguments whole);
  /// For one operand of many terms and no panels.
  void run_pieces(NestFunction nest, const TiledOperand& operand, NestArguments whole);
  void run_span(NestFunction nest, const TiledOperand& operand, NestArguments span, int64_t piece_k,
                LeftTiles left);
  /// Lets the product of the operand of that number have the left tiles of some rows; makes them.
  void set_left(const TiledOperand& operand, size_t number, const Range& rows, const Piece& piece,
                LeftTiles left);
  /// The same of the panels of the blocks of columns from `columns.begin` on, in memory of this
  /// thread.
  void make_right(const TiledOperand& operand, size_t number, const Range& columns,
                  const Piece& piece);

  std::vector<NestProductArguments> products_;
  std::vector<Scratch> left_, right_;
  Scratch sums_;
  bool backwards_ = false;  ///< the groups of columns of the next call
};

}  // namespace graphc::core::cpu

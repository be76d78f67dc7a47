// SPDX-License-Identifier: Apache-2.0
// Products by matrix tiles in blocks that stay in the caches: the loops around a nest whose left
// operands are unpacked f32 or bf16 and are packed into bf16 tiles here.
//
// With all terms at once:
//
//   panels                        of all columns, if they fit in the second-level cache
//   rows in chunks                whose left tiles are packed: as many as fit in that cache, or
//                                 more where panels are packed again for each chunk
//     columns in groups           of panels that exist already or are packed here
//       rows                      whose left tiles stay in the second-level cache
//         the nest
//
// With many terms and a matrix that is not in panels, in pieces of k (every element still has one
// sum with k ascending):
//
//   rows in chunks                whose left tiles are packed once
//     columns in spans            whose sums stay in the second-level cache
//       pieces
//         panels of the span
//         the nest                continues the sums
#pragma once

#include <span>
#include <vector>

#include "codegen/step/share.h"
#include "codegen/walk/nest_abi.h"
#include "codegen/walk/panels.h"
#include "codegen/walk/scratch.h"

namespace graphc::core::cpu {

/// A product of a call that uses matrix tiles.
struct TiledOperand {
  NestProductArguments product;  ///< with the unpacked left operand, and panels if there are any
  DType left = DType::f32;
  PanelSource right;  ///< the whole matrix, in blocks of its width
  bool in_panels = false;
};

/// Writes blocks as panels of PanelForm for matrix tiles. `source.base` is at the first of these
/// blocks; `source.columns` counts the columns of the whole matrix.
void make_tile_panels(const PanelSource& source, const Range& blocks, void* panels);

class TiledProduct {
 public:
  /// Runs `nest` over the rows and columns of `whole`, whose products are `operands`.
  void run(NestFunction nest, std::span<const TiledOperand> operands, const NestArguments& whole);

 private:
  /// A range of the terms.
  struct Piece {
    int64_t first = 0, k = 0;
  };

  /// The place of left tiles, whether they must still be packed, and whether they are needed again.
  struct LeftTiles {
    char* at = nullptr;
    bool make = true, keep = false;
  };

  void run_whole(NestFunction nest, std::span<const TiledOperand> operands, NestArguments whole);
  /// For one operand with many terms and no panels.
  void run_pieces(NestFunction nest, const TiledOperand& operand, NestArguments whole);
  void run_span(NestFunction nest, const TiledOperand& operand, NestArguments span, int64_t piece_k,
                LeftTiles left);
  /// Sets the left tiles of some rows for operand `number`; packs them if needed.
  void set_left(const TiledOperand& operand, size_t number, const Range& rows, const Piece& piece,
                LeftTiles left);
  /// Packs the panels of the blocks of `columns`, into memory of this thread, for operand `number`.
  void make_right(const TiledOperand& operand, size_t number, const Range& columns,
                  const Piece& piece);

  std::vector<NestProductArguments> products_;
  std::vector<Scratch> left_, right_;
  Scratch sums_;
  bool backwards_ = false;  ///< whether the next call takes its groups of columns in reverse
};

}  // namespace graphc::core::cpu

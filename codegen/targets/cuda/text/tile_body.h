// SPDX-License-Identifier: Apache-2.0
// The body of a nest with products, for the elements of a tile whose sums a thread has.
#pragma once

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda::internal {

/// `first_row` and `first_column` of the tile are in scope. The constructor's arguments must outlive
/// it.
class TileBody {
 public:
  TileBody(NestBody& body, const TileSums& sums, const BlockLoops& loops)
      : body_(body), sums_(sums), loops_(loops) {}

  /// Starts to read the operands of the elements, so that they arrive with the sums, if a thread
  /// needs at most `most` registers for them.
  void read_ahead(TextWriter& text, int most);
  /// Computes and stores the elements, on finished sums.
  void finish(TextWriter& text);

 private:
  void open_rows(TextWriter& text) const;
  void open_column(TextWriter& text, int step = 1) const;
  void open_columns(TextWriter& text, int step = 1) const;
  void define_column(TextWriter& text) const;
  void define_there(TextWriter& text) const;
  void store(TextWriter& text, Columns columns) const;

  NestBody& body_;
  const TileSums& sums_;
  const BlockLoops& loops_;
};

}  // namespace graphc::core::cuda::internal

// SPDX-License-Identifier: Apache-2.0
// The body of a nest with products, for the elements of a tile whose sums a thread has.
#pragma once

#include "codegen/targets/cuda/text/kernel_text.h"
#include "codegen/targets/cuda/text/nest_body.h"
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda::internal {

/// `first_row` and `first_column` of the tile are in scope. The constructor's arguments must
/// outlive it.
class TileBody {
 public:
  /// `counted`: `rows_there` and `columns_there` count those of the tile that there are.
  TileBody(NestBody& body, const TileSums& sums, const BlockLoops& loops, bool counted = false)
      : body_(body), sums_(sums), loops_(loops), counted_(counted) {}

  /// Starts to read the operands of the elements, so that they arrive with the sums, if a thread
  /// needs at most `most` registers for them.
  void read_ahead(TextWriter& text, int most);
  /// Reads what is the same for all rows, once for all rows of a thread.
  void read_columns(TextWriter& text);
  /// Computes and stores the elements, on finished sums.
  void finish(TextWriter& text);

 private:
  void open_rows(TextWriter& text) const;
  void open_column(TextWriter& text, Columns columns = Columns::one) const;
  void open_columns(TextWriter& text, Columns columns = Columns::one) const;
  void define_column(TextWriter& text, Columns columns = Columns::one) const;
  void define_there(TextWriter& text, Columns columns = Columns::one) const;
  std::string column_of(Columns columns) const;
  std::string column_there(Columns columns = Columns::one) const;
  void store(TextWriter& text, Columns columns) const;

  NestBody& body_;
  const TileSums& sums_;
  const BlockLoops& loops_;
  const bool counted_;
};

}  // namespace graphc::core::cuda::internal

// SPDX-License-Identifier: Apache-2.0
// Texts for values that the threads of a block divide among them (row_values.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "codegen/targets/cuda/rows/row_threads.h"
#include "codegen/targets/cuda/text/text.h"

namespace graphc::core::cuda {

/// Writes declarations of such values, loops over a thread's elements of one, and meetings of the
/// threads. In scope are the block's `part` of the row, the positions of the thread along the axes
/// of that part, `first_row` and `first_column`, and the memory in which threads meet.
class RowText {
 public:
  explicit RowText(const RowThreads& threads) : threads_(threads) {}

  /// Columns of the whole matrix.
  int64_t columns() const { return threads_.columns.extent * threads_.columns.parts; }
  /// "[4]" for a vector of which a thread has four elements.
  std::string extents(Spread spread) const;
  /// The element of a value in a loop over a domain: "x[i]".
  static std::string element(const std::string& name, Spread spread);
  /// Opens the loops over a thread's elements, `i` along the rows and `j` along the columns, and
  /// returns the number of scopes to close. With `checked`, only elements that there are.
  int open(TextWriter& text, Spread domain, bool checked = true) const;
  static void close(TextWriter& text, int scopes);
  /// The index of an element in memory, with strides in elements; "0" where it does not move.
  std::string index(int64_t of_row, int64_t of_column) const;
  /// The index of an element as a number, 64 bits wide.
  std::string row() const;
  std::string column() const;
  /// " + part * 512": where the block's part begins in memory with those strides.
  std::string offset_of_part(int64_t of_row, int64_t of_column) const;
  /// A number in the first part of a row; 0 in the others.
  static std::string of_first_part(const std::string& number, DType dtype);
  /// The condition under which a thread is the first of those of the block that have an element.
  /// Empty for a matrix.
  static std::string_view is_first(Spread spread);
  /// The same for those of all blocks of the row.
  std::string is_storing(Spread spread) const;

  /// A sum or a maximum over an axis of values that each thread has of its own.
  using Join = std::function<std::string(const std::string& x, const std::string& y)>;
  /// Joins the threads' parts `name` of a value along an axis: afterwards all have the result.
  void meet(TextWriter& text, bool along_rows, const std::string& name, Spread spread, DType dtype,
            const Join& join);
  /// Declares `to`, with the elements of a vector as `wanted` has them.
  void turn(TextWriter& text, const std::string& from, const std::string& to, Spread wanted,
            DType dtype);

  /// The memory in which threads meet; nothing if they do not. By type, its name.
  std::string declarations() const;
  static std::string meeting_name(DType dtype);
  /// Bytes of that memory.
  int64_t shared_bytes() const;

 private:
  /// The first element of the block's part, as a term of a sum.
  static std::string begin_of(const ThreadAxis& axis);
  /// Parts joined in pairs, so that none waits for all others.
  static std::string joined(const std::function<std::string(int)>& part, int first, int count,
                            const Join& join);
  std::string meeting_place(TextWriter& text, DType dtype, int64_t elements);

  const RowThreads& threads_;
  std::map<DType, int64_t> meeting_;  ///< elements, by type
};

}  // namespace graphc::core::cuda

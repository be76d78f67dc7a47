// SPDX-License-Identifier: Apache-2.0
// Coefficients of linear forms, and the axes that they are taken along.
#pragma once

#include <optional>
#include <vector>

#include "passes/recurrence/linear_form.h"

namespace graphc::core {

/// What the axes of a body value are: rows first; then those of the matrix, or the values alone.
struct AxesOfRows {
  Shape carry;       ///< [rows..., keys and values in either order]
  int key_axis = 0;  ///< of the carry

  int row_axes() const { return carry.rank() - 2; }
  int value_axis() const { return 2 * carry.rank() - 3 - key_axis; }
  int64_t rows() const;
  int64_t keys() const { return carry[key_axis]; }
  int64_t values() const { return carry[value_axis()]; }
  /// The shapes that a read can have: [rows..., values], and the carry's with one key.
  Shape flat() const;
  Shape with_one_key() const { return carry.with(key_axis, 1); }
};

/// A known value beside one that depends on the matrix.
struct Coefficient {
  Value value;  ///< [steps or 1, rows or 1, keys or values or 1]
  bool keys = false, values = false;
};

/// The known value as the operand of an elementwise op whose other operand has this shape, which
/// is the carry's, or that of a read. Nothing if its axes do not align with it, or if it has both
/// keys and values.
std::optional<Coefficient> coefficient(KnownSteps& known, Value inner, const Shape& beside,
                                       const AxesOfRows& axes);

/// A known matrix as a sum of outer products: nothing if it is not written as one.
std::optional<std::vector<Write>> outer_products(KnownSteps& known, Value inner,
                                                 const AxesOfRows& axes);

/// Of coefficients that may be absent, which is zero.
Value added(Value a, Value b);
Value scaled(Value a, Value factor);
ReadForm scaled(const ReadForm& read, Value factor);
ReadForm added(const ReadForm& a, const ReadForm& b);
StateForm scaled(const StateForm& state, Value factor);
StateForm added(StateForm a, const StateForm& b);
/// Where `condition`, `a`, else `b`.
ReadForm selected(Value condition, const ReadForm& a, const ReadForm& b);
StateForm selected(Value condition, const StateForm& a, const StateForm& b);
/// The sum over the keys.
ReadForm sum_over_keys(const StateForm& state, int64_t keys);

/// The form with the writes of equal keys as one write.
StateForm joined(StateForm state);

}  // namespace graphc::core

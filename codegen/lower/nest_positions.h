// SPDX-License-Identifier: Apache-2.0
// In which nest of a body each of its values is computed.
#pragma once

#include <compare>
#include <set>
#include <unordered_set>
#include <vector>

#include "passes/kernels/row_model.h"

namespace graphc::core {

/// The position of nests in a step: what is computed with the products of stage s is at 2s, sums
/// along the row of such values at 2s + 1 where they cannot be formed on the way.
struct NestPosition {
  int position;
  int space;
  auto operator<=>(const NestPosition&) const = default;
};

/// A sum or a maximum along the row.
bool is_reduction(const Node& node);

/// The positions of a body's values. Body and model must outlive it.
class NestPositions {
 public:
  /// With `join_spaces`, spaces of one unit are one: their nests become one.
  NestPositions(const Graph& body, const RowModel& rows, bool join_spaces);

  /// Where a value is computed.
  NestPosition of(Value value) const;

  /// Elementary functions of elements that a nest sums, or has the maximum of, and computes in any
  /// case: a softmax divides the exponentials by their sum in a later one.
  std::unordered_set<const Node*> summed_functions() const;

 private:
  int space_of(const Node& node) const;

  const Graph& body_;
  const RowModel& rows_;
  std::vector<int> space_;  ///< from a space of the rows to the one that it joins
  std::set<NestPosition> with_products_;
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// A graph as seen by the matcher: inputs of a loop's body are resolved to the values outside.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/attribute.h"
#include "ir/scan.h"

namespace graphc::core {

/// A value, and how the loop through which it was reached reads it.
struct Place {
  enum class Kind {
    here,       ///< computed in the loop, or not related to one
    stacked,    ///< the loop reads one step of it
    invariant,  ///< the loop reads all of it in every step
  };
  Value value;
  Kind kind = Kind::here;
};
std::string_view text_of(Place::Kind kind);

/// The terms of a sum, and the additions that form it.
struct Terms {
  std::vector<Place> places;
  std::vector<const Node*> sums;
};

/// One of the two graphs being matched.
class Side {
 public:
  /// The root may be a loop.
  explicit Side(const Node& root);

  const std::optional<Scan>& loop() const { return loop_; }
  /// A value of the graph or of the loop.
  Place place(Value value) const;
  /// An operand of the value's node.
  Place operand(const Place& place, size_t index) const;
  /// The terms that are summed to the value, in the loop and before it; the value itself if it is
  /// not a sum.
  Terms terms(const Place& place) const;
  bool is_carry(Value value) const;

 private:
  static bool is_sum(const Place& place);
  /// An operand of a sum as a place.
  Place term_of(const Place& sum, Value operand) const;

  std::optional<Scan> loop_;
};

/// The attribute in a comparable form: false if absent, axes counted from the front.
Attribute attribute_of(const Node& node, std::string_view name);

}  // namespace graphc::core

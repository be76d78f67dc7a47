// SPDX-License-Identifier: Apache-2.0
// Which op made a NaN or an infinity first: a graph is evaluated once more, and every element that
// is not finite is followed from where it began.
//
// The rule, for single elements: an element that is not finite *begins* in an op where no element
// that it is computed of is NaN or infinite; otherwise it has the origin of one of those. So an op
// is named only if what it made reaches a result or a new state, and only through elements that are
// not finite themselves: an infinity that a `select` drops, or padding, is not blamed, whatever
// stands beside it. Of several origins one that made a NaN in the end goes before one that left an
// infinity, then the earlier one. A constant such as a mask's -inf is no culprit: an op that makes
// NaN of it (-inf - -inf) is one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluate.h"

namespace graphc::core {

/// What a graph begins with that is not finite.
struct NotFiniteOrigin {
  Where where;       ///< the user's line of the op, the input, the constant or the state
  std::string text;  ///< one line that says all: value, op, counts, loops and steps, operands
};

/// Evaluates a graph without `grad` and says where the first NaN or infinity begins that reaches a
/// result or a new state; nothing when all of these are finite. Arguments, precision and errors are
/// those of evaluate(). Of result i only the elements inside `shown[i]` count, a shape of its rank;
/// an empty list shows all. In a tensor product of sums, in cumulative sums and in tables that are
/// summed into, elements of one row, or of the whole value, count as computed of all the others.
std::optional<NotFiniteOrigin> first_not_finite(const Graph& graph,
                                                const std::vector<Literal>& inputs,
                                                const std::map<std::string, Literal>& states = {},
                                                Precision precision = Precision::f32,
                                                const std::vector<Shape>& shown = {});

/// How many elements are NaN, and how many infinite; none of types that are not floating.
struct NotFiniteCounts {
  int64_t elements = 0, nan = 0, above = 0, below = 0;

  int64_t all() const { return nan + above + below; }
  void add(double value);
};
NotFiniteCounts count_not_finite(const Literal& value);
/// "3 of 400 elements (2 NaN, 1 inf)", "3 NaN of 400 elements".
std::string to_string(const NotFiniteCounts& counts);

}  // namespace graphc::core

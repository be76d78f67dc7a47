// SPDX-License-Identifier: Apache-2.0
// Finds the op that first produced a NaN or an infinity: evaluates the graph once more and tracks
// the origin of every element that is not finite.
//
// The rule, per element: a non-finite element *begins* at an op if none of the elements it is
// computed from is NaN or infinite; otherwise it inherits the origin of one of them. An op is
// therefore named only if its result reaches a result or a new state through non-finite elements:
// an infinity that a `select` drops is not blamed, and neither is padding, whatever is next to it.
// Among several origins, one that led to a NaN precedes one that left an infinity; then the earlier
// one wins. A constant such as a mask's -inf is not an origin; an op that turns it into NaN (-inf -
// -inf) is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/evaluate.h"

namespace graphc::core {

/// The origin of non-finite values in a graph.
struct NotFiniteOrigin {
  Where where;       ///< the user's line of the op, the input, the constant or the state
  std::string text;  ///< one line: value, op, counts, loops and steps, operands
};

/// Evaluates a graph without `grad` and returns the origin of the first NaN or infinity that
/// reaches a result or a new state; nothing if all of these are finite. Arguments, precision and
/// errors are those of evaluate(). Of result i only the elements inside `shown[i]`, a shape of its
/// rank, count; an empty list means everything. In products of tensors, cumulative sums and summed
/// tables, each element is taken to depend on all elements of its row or of the whole value.
std::optional<NotFiniteOrigin> first_not_finite(const Graph& graph,
                                                const std::vector<Literal>& inputs,
                                                const std::map<std::string, Literal>& states = {},
                                                Precision precision = Precision::f32,
                                                const std::vector<Shape>& shown = {});

/// The numbers of NaN and infinite elements; 0 for types that are not floating-point.
struct NotFiniteCounts {
  int64_t elements = 0, nan = 0, above = 0, below = 0;

  int64_t all() const { return nan + above + below; }
  void add(double value);
};
NotFiniteCounts count_not_finite(const Literal& value);
/// "3 of 400 elements (2 NaN, 1 inf)", "3 NaN of 400 elements".
std::string to_string(const NotFiniteCounts& counts);

}  // namespace graphc::core

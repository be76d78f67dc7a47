// SPDX-License-Identifier: Apache-2.0
// Running error bounds: how far f32 arithmetic may move each element of a graph's results from the
// exact value, computed alongside (Higham, Accuracy and Stability of Numerical Algorithms, section
// 3.3).
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "ir/precision.h"

namespace graphc::core::testing {

/// The rounding of a target that computes products of f32 in a type with fewer digits.
struct ProductRounding {
  double factor = 0;  ///< relative rounding error of a factor,
  double least = 0;   ///< or, if larger, its absolute error
  double largest = std::numeric_limits<double>::infinity();  ///< beyond it, unbounded
  int of_sum = 1;  ///< error of rounding a sum, relative to round-to-nearest
};

/// The rounding of a precision of CompileOptions. Tensor cores truncate sums of four or eight terms
/// plus the running sum, each at 2^-23 of the largest, and again when they are added: 3 units of
/// rounding to nearest per term, and three times that if a term consists of three products.
ProductRounding product_rounding(Precision precision);

/// The graph (without `grad`, states or kernels; f32 where floating) with bounds after its results:
/// for each result r an f32 value of its shape, the maximum distance of a target's element from
/// r's. To be evaluated in f64.
///
/// The bound holds for f32 inputs and constants, operations rounded to nearest or exact, elementary
/// functions within 5 ulp, and sums in any order, up to second-order terms in the unit roundoff;
/// also if denormals are flushed to 0, as results, as constants and as elements of the inputs
/// marked in `denormal`. The effect of operand errors on a result is bounded over the whole range
/// of the operands, not by a derivative. A condition that errors can flip counts as flipped, so the
/// bound of a selection includes the distance of both values. The bound ignores cancellation of
/// errors, so it may grow where the actual error does not; if an error is unbounded, it is infinite
/// or NaN.
GraphPtr with_rounding_bounds(const Graph& graph, const ProductRounding& products = {},
                              const std::vector<bool>& denormal = {});

/// Whether the results are unmodified elements of the operands, rearranged.
bool moves_elements(const Node& node);

/// Results in f64, and for each element how far rounding may move a target from it.
struct BoundedResults {
  std::vector<Literal> values, bounds;
};

/// Evaluates with_rounding_bounds(graph, products), with the inputs that contain denormals marked.
BoundedResults evaluate_with_bounds(const Graph& graph, const std::vector<Literal>& inputs,
                                    const ProductRounding& products = {});

/// The first element found that exceeds its bound; empty if there is none. Elements without a
/// finite bound are not compared.
std::string beyond_bound(const std::vector<Literal>& found, const BoundedResults& wanted);

}  // namespace graphc::core::testing

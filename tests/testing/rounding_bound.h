// SPDX-License-Identifier: Apache-2.0
// Running error bounds: how far f32 arithmetic may lead each element of a graph's results away from
// the exact ones, computed beside them (Higham, Accuracy and Stability of Numerical Algorithms,
// section 3.3).
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core::testing {

/// What a target does to the products of f32 that it computes in a type of fewer digits.
struct ProductRounding {
  double factor = 0;  ///< a factor is rounded by up to this part of it,
  double least = 0;   ///< or, if that is more, by this
  double largest = std::numeric_limits<double>::infinity();  ///< a larger one can be anything
  int of_sum = 1;  ///< how many times as large as to nearest a rounding of a sum is
};

/// That of a precision of CompileOptions. Tensor cores cut sums of four terms, or eight, and the
/// sum so far off, each at 2^-23 of the largest, and again when they are summed: 3 units of a
/// rounding to nearest for each term, and three times that where a term is three products.
ProductRounding product_rounding(std::string_view precision);

/// The graph (no `grad`, states or kernels; f32 where floating) with a bound behind its results:
/// for each result r an f32 value of its shape, such that a target's element is at most that far
/// from r's. To be evaluated in f64.
///
/// The bound holds for f32 inputs and constants, every operation rounded to nearest or not at all,
/// elementary functions within 5 ulp, and sums in any order, up to terms of second order in the
/// unit roundoff; and where numbers below the smallest normal one are taken for 0, as results, as
/// constants and as elements of the inputs that `denormal` names. What the operands' errors do to a
/// result is bounded over all values they may have, not by a derivative. A condition that they may
/// turn counts as turned, so that the bound of what it selects has the distance of the two. A bound
/// does not see that errors cancel, so it may grow where they do not; where an error can be
/// anything, it is infinite or a NaN.
GraphPtr with_rounding_bounds(const Graph& graph, const ProductRounding& products = {},
                              const std::vector<bool>& denormal = {});

/// Whether the results are elements of the operands, as they are, in other places.
bool moves_elements(const Node& node);

/// Results in f64, and for each element how far rounding may lead a target from it.
struct BoundedResults {
  std::vector<Literal> values, bounds;
};

/// Evaluates with_rounding_bounds(graph, products), with the inputs that have denormals named.
BoundedResults evaluate_with_bounds(const Graph& graph, const std::vector<Literal>& inputs,
                                    const ProductRounding& products = {});

/// The first element found that is farther from the exact one than its bound; empty when none is.
/// Elements without a finite bound are not compared.
std::string beyond_bound(const std::vector<Literal>& found, const BoundedResults& wanted);

}  // namespace graphc::core::testing

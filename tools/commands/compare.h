// SPDX-License-Identifier: Apache-2.0
// Comparison of computed values with expected ones, relative to the size of the value.
#pragma once

#include <span>
#include <string>

#include "ir/literal.h"

namespace graphc::core::commands {

/// How much farther from the evaluator a target may be than the evaluator's own variants are from
/// each other.
inline constexpr double kConditioning = 16;
/// The largest relative deviation that ill conditioning may excuse, for precisions whose rounding
/// is small in comparison (docs/decisions/0013-what-rounding-explains-is-measured.md). Also the
/// largest share of elements of an integer result.
inline constexpr double kLargestExcuse = 0.01;

/// The largest magnitude of the finite elements; 0 if there are none.
double magnitude(const Literal& value);
/// The largest distance between corresponding elements that are both finite.
double distance(const Literal& a, const Literal& b);

struct Comparison {
  /// The largest distance of an element from the expected one, relative to the expected magnitude.
  double largest = 0;
  /// The first wrong element, as a sentence; empty if there is none.
  std::string difference;
};

/// Compares a value with the expected one of the same type.
///
/// The tolerance of a floating-point element is the sum of: `tolerance` times the magnitude of the
/// expected value; kConditioning times the spread of `forms`, which are the same value computed by
/// the evaluator in f64, from inputs perturbed by one rounding, or without denormals (so that
/// cancelled digits are not required); and `terms` times the smallest normal number of the type,
/// because each term of a sum below that may be flushed to 0. NaN and infinities must match, unless
/// the first form shows that the number overflows the type: then any of them is accepted. If the
/// expected value is 0 in every form, the found one must be 0. Integers and booleans must be equal,
/// except for elements that differ among the forms, which rounding decides, and kConditioning times
/// as many others, but at most the share kLargestExcuse of all.
Comparison compare(const Literal& found, const Literal& wanted, double tolerance,
                   std::span<const Literal> forms = {}, double terms = 1);

}  // namespace graphc::core::commands

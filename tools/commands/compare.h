// SPDX-License-Identifier: Apache-2.0
// When a computed value is the wanted one: differences relative to the size of the value.
#pragma once

#include <span>
#include <string>

#include "ir/literal.h"

namespace graphc::core::commands {

/// How much farther than the evaluator's own forms lie apart a target may lie from the evaluator.
inline constexpr double kConditioning = 16;
/// The largest part of a result's size that its conditioning may excuse: of precisions whose
/// rounding is small beside it (docs/decisions/0013-what-rounding-explains-is-measured.md). And the
/// largest share of the elements of a result of integers.
inline constexpr double kLargestExcuse = 0.01;

/// The largest magnitude among the finite elements; 0 when there is none.
double magnitude(const Literal& value);
/// The largest distance of two elements at the same place that are both finite.
double distance(const Literal& a, const Literal& b);

struct Comparison {
  /// The largest distance of an element from the wanted one, relative to the wanted magnitude.
  double largest = 0;
  /// The first element that is not the wanted one, as a sentence; empty when there is none.
  std::string difference;
};

/// Compares a value with the one wanted, of the same type.
///
/// A floating-point element may be farther from the wanted one by `tolerance` times the magnitude
/// of the wanted value, plus kConditioning times what `forms` say: the same value, as the evaluator
/// has it in f64, from inputs one rounding away or without denormals, so that digits that cancel
/// are not asked for; and by `terms` times the smallest normal number of the type, since each term
/// of a sum may be taken for 0 below that. NaN and infinities must be the same, unless the
/// first form says that the number is beyond the type: then each of them will do; where everything
/// wanted is 0 in every form, so must be what is found. Integers and booleans must be equal, except
/// for elements that differ among the forms, which a rounding decides, and kConditioning times as
/// many others, but no more than the share kLargestExcuse of all.
Comparison compare(const Literal& found, const Literal& wanted, double tolerance,
                   std::span<const Literal> forms = {}, double terms = 1);

}  // namespace graphc::core::commands

// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated readings of one quantity.
#pragma once

#include <vector>

namespace graphc::core::bench {

struct Summary {
  double median = 0, min = 0, max = 0;

  Summary operator*(double factor) const;  ///< `factor` is positive
  /// `numerator` / reading, for every reading: the smallest reading gives the largest quotient.
  Summary divide(double numerator) const;
};

/// For at least one reading. The median of an even number is the mean of the middle two.
Summary summarize(std::vector<double> readings);

}  // namespace graphc::core::bench

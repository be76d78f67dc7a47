// SPDX-License-Identifier: Apache-2.0
// What a benchmark says of many readings of one quantity.
#pragma once

#include <vector>

namespace graphc::core::bench {

struct Summary {
  double median = 0, min = 0, max = 0;

  Summary operator*(double factor) const;  ///< `factor` is above 0
  /// `numerator` / reading, for every reading: the least reading gives the largest quotient.
  Summary divide(double numerator) const;
};

/// Of at least one reading. The median of an even number is the mean of the middle two.
Summary summarize(std::vector<double> readings);

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/statistics.h"

#include <algorithm>

#include "ir/error.h"

namespace graphc::core::bench {

Summary Summary::operator*(double factor) const {
  return {median * factor, min * factor, max * factor};
}

Summary Summary::divide(double numerator) const {
  return {numerator / median, numerator / max, numerator / min};
}

Summary summarize(std::vector<double> readings) {
  GRAPHC_CHECK(!readings.empty(), "there is nothing to summarize");
  std::ranges::sort(readings);
  const size_t half = readings.size() / 2;
  const double median =
      readings.size() % 2 == 1 ? readings[half] : (readings[half - 1] + readings[half]) / 2;
  return {median, readings.front(), readings.back()};
}

}  // namespace graphc::core::bench

// SPDX-License-Identifier: Apache-2.0
// Measures the machine's peak five times during a benchmark, the reference for fractions of peak.
#pragma once

#include <algorithm>

#include "ir/precision.h"
#include "runtime/peak.h"

namespace graphc::core::bench {

/// A benchmark of `rows` rows makes kStops stops in each and one at its end. At regular intervals
/// of stops the peak is measured, five times in all.
class PeakMeter {
 public:
  static constexpr int kStops = 4;

  /// The peak for products of f32 or of bf16 factors; for a precision that uses several products
  /// for one (bf16x3, bf16x6), divided by their number.
  PeakMeter(int threads, int64_t rows, Precision precision) : team_(threads), rows_(rows) {
    const Factors factors = factors_of(precision);
    const int parts = bf16_parts(factors);
    if (factors == Factors::bf16 || parts > 1) dtype_ = DType::bf16;
    // Part i is multiplied by the parts up to parts - i: the smaller products are left out.
    products_ = parts * (parts + 1) / 2;
  }

  void stop() {
    if (stops_++ % rows_ == 0) {
      best_ = std::max(best_, measure_peak_gflops(team_, dtype_));
      ++readings_;
    }
  }

  double best_gflops() const { return best_ / products_; }
  int readings() const { return readings_; }

 private:
  ThreadTeam team_;
  int64_t rows_, stops_ = 0;
  DType dtype_ = DType::f32;
  int products_ = 1;
  double best_ = 0;
  int readings_ = 0;
};

}  // namespace graphc::core::bench

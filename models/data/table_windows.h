// SPDX-License-Identifier: Apache-2.0
// Windows over the rows of a table: some rows, and the rows that follow them.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/tensor.h"

namespace graphc::core {

/// Window i has the features of rows [i, i + steps) and the targets of the following `horizon`
/// rows. A window belongs to the part that contains all its target rows: the first 80 % of the rows
/// are train, the next 10 % valid, the last 10 % test. Its features may reach back into the
/// previous part, as in real forecasting.
class TableWindows {
 public:
  /// features f32[rows, width]; targets f32[rows, n], NaN if missing. Throws ErrorKind::input if a
  /// part would have no window, and ErrorKind::usage for steps or horizon below 1.
  TableWindows(Tensor features, Tensor targets, int64_t steps, int64_t horizon);

  /// The windows of train, valid or test: begin and end. Throws ErrorKind::usage for other names.
  std::pair<int64_t, int64_t> part(std::string_view name) const;
  /// The number of rows in train, which contains its features and targets.
  static int64_t rows_of_train(int64_t rows) { return rows * 8 / 10; }
  /// x f32[steps, n, width] and targets f32[horizon, n, targets].
  std::vector<Tensor> batch(std::span<const int64_t> windows) const;
  /// The target `index` in the row `ahead` (from 0) after a window.
  float target(int64_t window, int64_t ahead, int64_t index) const;
  /// The naive forecast, that nothing changes: the target of the window's last row, or of the last
  /// row before it that has one. NaN if there is none.
  float naive(int64_t window, int64_t index) const;

  struct Spread {
    std::vector<float> mean, deviation;  ///< one value per column
  };
  /// Mean and standard deviation of each feature, then of each target, over the rows of train with
  /// known values, summed in f64; a deviation of 0 becomes 1.
  Spread spread() const;

 private:
  int64_t rows() const { return features_.shape()[0]; }

  Tensor features_, targets_;
  std::vector<float> last_known_;  ///< of each target, up to each row
  int64_t steps_, horizon_;
  std::array<std::pair<int64_t, int64_t>, 3> parts_{};  ///< windows: begin and end
};

}  // namespace graphc::core

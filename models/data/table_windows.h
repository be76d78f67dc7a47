// SPDX-License-Identifier: Apache-2.0
// Windows over the rows of a table: so many rows, and the number that comes after them.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/data/table.h"
#include "runtime/tensor.h"

namespace graphc::core {

/// Window i has rows [i, i + steps) of every column, and as its target the last column `horizon`
/// rows after its last row. By their targets' rows windows belong to parts: those in the first four
/// fifths of the rows to train, in the next tenth to valid, in the last tenth to test; a window
/// reaches back into the part before, as it does where one forecasts.
class TableWindows {
 public:
  /// The last column may be among the others too. Throws ErrorKind::input when a part would have no
  /// window, and ErrorKind::usage for steps or horizon below 1.
  TableWindows(Table table, int64_t steps, int64_t horizon);

  /// The windows of train, valid or test: begin and end. Throws ErrorKind::usage for another.
  std::pair<int64_t, int64_t> part(std::string_view name) const;
  /// x f32[steps, n, columns but the last] and targets f32[n, 1].
  std::vector<Tensor> batch(std::span<const int64_t> windows) const;

  struct Spread {
    std::vector<float> mean, deviation;  ///< a column each
  };
  /// Mean and standard deviation of each column over the rows of train, summed in f64; a deviation
  /// of 0 is 1.
  Spread spread() const;
  /// The root of the mean square of what the target differs by from that of the window's last row,
  /// over a part: the error of the naive forecast, that nothing changes.
  double naive_rmse(std::string_view part) const;

 private:
  int64_t target_row(int64_t window) const { return window + steps_ + horizon_ - 1; }
  const std::vector<float>& target() const { return table_.columns.back(); }

  Table table_;
  int64_t steps_, horizon_;
  std::array<int64_t, 4> borders_{};  ///< the windows where parts begin, and their end
};

}  // namespace graphc::core

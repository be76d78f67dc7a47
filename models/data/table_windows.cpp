// SPDX-License-Identifier: Apache-2.0
#include "models/data/table_windows.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace graphc::core {
namespace {

constexpr std::array<std::string_view, 3> kTableParts{"train", "valid", "test"};

}  // namespace

TableWindows::TableWindows(Table table, int64_t steps, int64_t horizon)
    : table_(std::move(table)), steps_(steps), horizon_(horizon) {
  if (steps < 1 || horizon < 1) {
    throw Error(ErrorKind::usage, {},
                fmt::format("windows of {} steps, {} ahead: wanted at least 1", steps, horizon));
  }
  const int64_t rows = table_.rows(), before = steps + horizon - 1;
  const int64_t ends[] = {before, rows * 8 / 10, rows * 9 / 10, rows};
  for (size_t i = 0; i < borders_.size(); ++i) borders_[i] = ends[i] - before;
  for (size_t i = 0; i < kTableParts.size(); ++i) {
    if (borders_[i] < borders_[i + 1]) continue;
    throw input_error(
        {},
        "a table of {} rows has no window of {} rows with a target {} ahead for split "
        "'{}': wanted more rows, or less of steps or horizon",
        rows, steps, horizon, kTableParts[i]);
  }
}

std::pair<int64_t, int64_t> TableWindows::part(std::string_view name) const {
  const auto found = std::ranges::find(kTableParts, name);
  if (found == kTableParts.end()) {
    throw Error(ErrorKind::usage, {},
                fmt::format("there is no split '{}': wanted train, valid or test", name));
  }
  const auto index = size_t(found - kTableParts.begin());
  return {borders_[index], borders_[index + 1]};
}

std::vector<Tensor> TableWindows::batch(std::span<const int64_t> windows) const {
  const size_t width = table_.columns.size() - 1, count = windows.size();
  Tensor x(Type{DType::f32, {steps_, int64_t(count), int64_t(width)}});
  Tensor y(Type{DType::f32, {int64_t(count), 1}});
  const std::span<float> xs = x.mutable_data<float>(), ys = y.mutable_data<float>();
  for (size_t row = 0; row < count; ++row) {
    for (size_t t = 0; t < size_t(steps_); ++t) {
      for (size_t i = 0; i < width; ++i)
        xs[(t * count + row) * width + i] = table_.columns[i][size_t(windows[row]) + t];
    }
    ys[row] = target()[size_t(target_row(windows[row]))];
  }
  return {x, y};
}

TableWindows::Spread TableWindows::spread() const {
  const auto rows = size_t(target_row(part("train").second - 1)) + 1;
  Spread spread;
  for (const std::vector<float>& column : table_.columns) {
    double sum = 0, squares = 0;
    for (size_t row = 0; row < rows; ++row) sum += double(column[row]);
    const double mean = sum / double(rows);
    for (size_t row = 0; row < rows; ++row) squares += std::pow(double(column[row]) - mean, 2);
    const auto deviation = float(std::sqrt(squares / double(rows)));
    spread.mean.push_back(float(mean));
    spread.deviation.push_back(deviation > 0 ? deviation : 1);
  }
  return spread;
}

double TableWindows::naive_rmse(std::string_view name) const {
  const auto [begin, end] = part(name);
  double squares = 0;
  for (int64_t window = begin; window < end; ++window) {
    const double now = target()[size_t(window + steps_ - 1)];
    squares += std::pow(double(target()[size_t(target_row(window))]) - now, 2);
  }
  return std::sqrt(squares / double(end - begin));
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "models/data/table_windows.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace graphc::core {
namespace {

constexpr std::array<std::string_view, 3> kTableParts{"train", "valid", "test"};

}  // namespace

TableWindows::TableWindows(Tensor features, Tensor targets, int64_t steps, int64_t horizon)
    : features_(std::move(features)),
      targets_(std::move(targets)),
      steps_(steps),
      horizon_(horizon) {
  if (steps < 1 || horizon < 1) {
    throw Error(ErrorKind::usage, {},
                fmt::format("windows of {} steps, {} ahead: wanted at least 1", steps, horizon));
  }
  const int64_t borders[] = {0, rows_of_train(rows()), rows() * 9 / 10, rows()};
  for (size_t i = 0; i < kTableParts.size(); ++i) {
    // The first and the last target row are in the part.
    parts_[i] = {std::max<int64_t>(0, borders[i] - steps), borders[i + 1] - steps - horizon + 1};
    if (parts_[i].first < parts_[i].second) continue;
    throw input_error({},
                      "a table of {} rows has no window of {} rows with {} behind it for split "
                      "'{}': wanted more rows, or less of steps or horizon",
                      rows(), steps, horizon, kTableParts[i]);
  }
  const std::span<const float> all = targets_.data<float>();
  last_known_.assign(all.begin(), all.end());
  const auto width = size_t(targets_.shape()[1]);
  for (size_t i = width; i < last_known_.size(); ++i) {
    if (std::isnan(last_known_[i])) last_known_[i] = last_known_[i - width];
  }
}

std::pair<int64_t, int64_t> TableWindows::part(std::string_view name) const {
  const auto found = std::ranges::find(kTableParts, name);
  if (found == kTableParts.end()) {
    throw Error(ErrorKind::usage, {},
                fmt::format("there is no split '{}': wanted train, valid or test", name));
  }
  return parts_[size_t(found - kTableParts.begin())];
}

float TableWindows::target(int64_t window, int64_t ahead, int64_t index) const {
  const int64_t row = window + steps_ + ahead;
  return targets_.data<float>()[size_t(row * targets_.shape()[1] + index)];
}

float TableWindows::naive(int64_t window, int64_t index) const {
  const int64_t row = window + steps_ - 1;
  return last_known_[size_t(row * targets_.shape()[1] + index)];
}

std::vector<Tensor> TableWindows::batch(std::span<const int64_t> windows) const {
  const int64_t width = features_.shape()[1], count = int64_t(windows.size()),
                targets = targets_.shape()[1];
  Tensor x(Type{DType::f32, {steps_, count, width}});
  Tensor y(Type{DType::f32, {horizon_, count, targets}});
  const auto copy = [&](const Tensor& from, int64_t extent, int64_t first, Tensor& to) {
    const std::span<const float> numbers = from.data<float>();
    float* next = to.mutable_data<float>().data();
    for (int64_t row = first; row < first + extent; ++row) {
      for (const int64_t window : windows) {
        const int64_t each = from.shape()[1];
        next = std::copy_n(numbers.begin() + (window + row) * each, each, next);
      }
    }
  };
  copy(features_, steps_, 0, x);
  copy(targets_, horizon_, steps_, y);
  return {x, y};
}

TableWindows::Spread TableWindows::spread() const {
  Spread spread;
  for (const Tensor* each : {&features_, &targets_}) {
    const std::span<const float> numbers = each->data<float>();
    const auto width = size_t(each->shape()[1]);
    const auto end = size_t(rows_of_train(rows())) * width;
    for (size_t column = 0; column < width; ++column) {
      double sum = 0, squares = 0, count = 0;
      for (size_t i = column; i < end; i += width) {
        if (std::isnan(numbers[i])) continue;
        sum += double(numbers[i]);
        ++count;
      }
      const double mean = count > 0 ? sum / count : 0;
      for (size_t i = column; i < end; i += width) {
        if (!std::isnan(numbers[i])) squares += std::pow(double(numbers[i]) - mean, 2);
      }
      const auto deviation = float(count > 0 ? std::sqrt(squares / count) : 0);
      spread.mean.push_back(float(mean));
      spread.deviation.push_back(deviation > 0 ? deviation : 1);
    }
  }
  return spread;
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Windows over a table's rows: their numbers, their parts, and what they are standardised by.
#include "models/data/table_windows.h"

#include <gmock/gmock.h>

#include <cmath>

#include "ir/error.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor matrix(const std::vector<std::vector<float>>& rows) {
  Tensor result(Type{DType::f32, {int64_t(rows.size()), int64_t(rows[0].size())}});
  float* to = result.mutable_data<float>().data();
  for (const std::vector<float>& row : rows) to = std::copy(row.begin(), row.end(), to);
  return result;
}

/// Row r has r and 100 - r; the target is the square of r.
TableWindows windows_of(int64_t rows, int64_t steps, int64_t horizon) {
  std::vector<std::vector<float>> features, targets;
  for (int64_t row = 0; row < rows; ++row) {
    features.push_back({float(row), float(100 - row)});
    targets.push_back({float(row * row)});
  }
  return TableWindows(matrix(features), matrix(targets), steps, horizon);
}

TEST(TableWindowsTest, HaveTheirRowsAndThoseBehindThem) {
  const TableWindows windows = windows_of(20, 3, 2);
  const std::vector<Tensor> batch = windows.batch(std::vector<int64_t>{5, 0});
  EXPECT_EQ(batch[0].shape(), (Shape{3, 2, 2}));
  EXPECT_THAT(batch[0].to_vector(), ElementsAre(5, 95, 0, 100, 6, 94, 1, 99, 7, 93, 2, 98));
  EXPECT_EQ(batch[1].shape(), (Shape{2, 2, 1}));
  EXPECT_THAT(batch[1].to_vector(), ElementsAre(64, 9, 81, 16));
}

TEST(TableWindowsTest, ArePartsByTheirTargets) {
  // Target rows are 3 to 15, 16 and 17, 18 and 19.
  const TableWindows windows = windows_of(20, 3, 2);
  EXPECT_EQ(windows.part("train"), (std::pair<int64_t, int64_t>{0, 12}));
  EXPECT_EQ(windows.part("valid"), (std::pair<int64_t, int64_t>{13, 14}));
  EXPECT_EQ(windows.part("test"), (std::pair<int64_t, int64_t>{15, 16}));
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { windows.part("tests"); }),
            "there is no split 'tests': wanted train, valid or test");
  EXPECT_EQ(error_of(ErrorKind::input, [] { windows_of(20, 16, 1); }),
            "a table of 20 rows has no window of 16 rows with 1 behind it for split 'train': "
            "wanted more rows, or less of steps or horizon");
  EXPECT_THAT(error_of(ErrorKind::input, [] { windows_of(4, 1, 1); }), HasSubstr("split 'valid'"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { windows_of(20, 3, 3); }), HasSubstr("split 'valid'"));
}

TEST(TableWindowsTest, SpreadIsOfTheKnownRowsOfTrainAlone) {
  std::vector<std::vector<float>> features, targets;
  for (int64_t row = 0; row < 10; ++row) {
    // 2 and 6 in turn, and what must not count behind them.
    features.push_back({row < 8 ? float(row % 2 == 0 ? 2 : 6) : 1e6f, 3});
    targets.push_back({row == 7 ? std::nanf("") : float(row)});
  }
  const auto [mean, deviation] = TableWindows(matrix(features), matrix(targets), 1, 1).spread();
  EXPECT_THAT(mean, ElementsAre(4, 3, 3));
  EXPECT_THAT(deviation, ElementsAre(2, 1, 2));
}

TEST(TableWindowsTest, TheNaiveForecastIsTheLastKnownTarget) {
  const float none = std::nanf("");
  std::vector<std::vector<float>> features, targets;
  for (const float target : {none, none, 3.0f, 4.0f, none, none, 7.0f, 8.0f, 9.0f, 10.0f}) {
    features.push_back({0});
    targets.push_back({target, 1});
  }
  const TableWindows windows(matrix(features), matrix(targets), 1, 1);
  std::vector<float> found;
  for (int64_t window = 0; window < 8; ++window) found.push_back(windows.naive(window, 0));
  EXPECT_THAT(found, ElementsAre(::testing::IsNan(), ::testing::IsNan(), 3, 4, 4, 4, 7, 8));
  EXPECT_EQ(windows.naive(0, 1), 1);
}

}  // namespace
}  // namespace graphc::core

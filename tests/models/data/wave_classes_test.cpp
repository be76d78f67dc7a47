// SPDX-License-Identifier: Apache-2.0
#include "models/data/wave_classes.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace graphc::core {
namespace {

TEST(WaveClasses, AreThoseOfTheirSequencesButForALittleNoise) {
  const WaveClasses data(10'000, 10, 1);
  std::vector<int64_t> all(10'000);
  std::iota(all.begin(), all.end(), 0);
  // W5: the majority class is 57 %.
  EXPECT_NEAR(data.majority(all), 0.57, 0.015);
  const std::vector<Tensor> batch = data.batch(all);
  ASSERT_EQ(batch[0].shape(), (Shape{10, 10'000, 2}));
  ASSERT_EQ(batch[1].shape(), (Shape{10'000, 1}));
  const std::vector<float> x = batch[0].to_vector(), y = batch[1].to_vector();
  int agree = 0;
  double sum = 0;
  for (size_t row = 0; row < 10'000; ++row) {
    double wave = 0;
    for (size_t t = 0; t < 10; ++t) {
      const double x1 = x[(t * 10'000 + row) * 2], x2 = x[(t * 10'000 + row) * 2 + 1];
      ASSERT_TRUE(std::abs(x1) <= 1 && std::abs(x2) <= 1);
      wave += (0.1 * x1 * x1 * std::sin(double(t)) + 0.4 * x2 * x2 * x2 / (std::abs(x1) + 1)) / 10;
      sum += x1 + x2;
    }
    agree += (wave > 0) == (y[row] == 1) ? 1 : 0;
  }
  // W5: no classifier can pass about 91 %.
  EXPECT_NEAR(agree / 1e4, 0.91, 0.015);
  EXPECT_NEAR(sum / 2e5, 0, 0.01);
}

TEST(WaveClasses, OfASeedAreTheSameAndOfOthersNot) {
  const std::vector<int64_t> rows{2, 0};
  const auto x = [&](uint64_t seed) { return WaveClasses(3, 4, seed).batch(rows)[0].to_vector(); };
  EXPECT_EQ(x(5), x(5));
  EXPECT_NE(x(5), x(6));
  // A row is its sequence's, wherever it stands.
  const std::vector<int64_t> turned{0, 2};
  const std::vector<float> there = WaveClasses(3, 4, 5).batch(turned)[0].to_vector(), here = x(5);
  for (size_t t = 0; t < 4; ++t) {
    EXPECT_EQ(here[t * 4], there[t * 4 + 2]);
    EXPECT_EQ(here[t * 4 + 3], there[t * 4 + 1]);
  }
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Buckets: every sample once, in batches of like length, in an order that is drawn where its is.
#include "frontend/buckets.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::IsEmpty;

using Batches = std::vector<std::vector<int64_t>>;

/// Uniform in 1 to `longest`.
std::vector<int64_t> drawn_lengths(int64_t count, int64_t longest) {
  SplitMix draw(7);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(1 + draw.below(longest));
  return lengths;
}

TEST(Buckets, HaveSamplesOfLikeLength) {
  const std::vector<int64_t> order{4, 0, 3, 1, 2}, lengths{9, 2, 9, 1, 5};
  // By length 3, 1, 4, 0, 2; the batch with 4 is the one whose first sample comes first.
  EXPECT_THAT(batches_by_length(order, lengths, 2),
              ElementsAre(ElementsAre(4, 0), ElementsAre(3, 1), ElementsAre(2)));
  EXPECT_THAT(batches_by_length(std::vector<int64_t>{2, 1}, lengths, 8),
              ElementsAre(ElementsAre(1, 2)));
  EXPECT_THAT(batches_by_length({}, lengths, 3), IsEmpty());
}

TEST(Buckets, OfEqualLengthsAreTheOrderItself) {
  const std::vector<int64_t> order = shuffled(10, 3, 0), equal(10, 4);
  std::vector<int64_t> joined;
  for (const std::vector<int64_t>& batch : batches_by_length(order, equal, 3))
    joined.insert(joined.end(), batch.begin(), batch.end());
  EXPECT_EQ(joined, order);
}

TEST(Buckets, HaveEverySampleOnceAndLittlePadding) {
  const int64_t count = 1000, batch = 20, longest = 100;
  const std::vector<int64_t> lengths = drawn_lengths(count, longest);
  const Batches batches = batches_by_length(shuffled(count, 1, 0), lengths, batch);
  int64_t frames = 0, padded = 0, falls = 0, last = 0;
  std::vector<int64_t> found;
  for (const std::vector<int64_t>& rows : batches) {
    int64_t steps = 0;
    for (const int64_t row : rows) {
      frames += lengths[size_t(row)];
      steps = std::max(steps, lengths[size_t(row)]);
      found.push_back(row);
    }
    padded += batch * steps;
    falls += steps < last ? 1 : 0;
    last = steps;
  }
  std::ranges::sort(found);
  EXPECT_EQ(found, numbers(0, count));
  EXPECT_LT(double(padded), 1.03 * double(frames));
  // Short and long batches follow each other as they are drawn: about every second one is shorter.
  EXPECT_GT(falls, 15);
  EXPECT_LT(falls, 35);
}

TEST(Buckets, AreDrawnAnewWithAnotherOrder) {
  const std::vector<int64_t> lengths = drawn_lengths(200, 10);
  const Batches first = batches_by_length(shuffled(200, 1, 0), lengths, 8);
  EXPECT_EQ(batches_by_length(shuffled(200, 1, 0), lengths, 8), first);
  const Batches second = batches_by_length(shuffled(200, 1, 1), lengths, 8);
  int same = 0;
  for (const std::vector<int64_t>& rows : second) same += int(std::ranges::count(first, rows));
  EXPECT_EQ(same, 0);
}

TEST(Buckets, ErrorsSayWhatIsWanted) {
  const std::vector<int64_t> order{0, 3}, lengths{5, 6, 7};
  EXPECT_EQ(error_of(ErrorKind::input, [&] { batches_by_length(order, lengths, 2); }),
            "batches_by_length: sample 3 has no length: there are 3");
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { batches_by_length(order, lengths, 0); }),
            "batches_by_length: wanted a batch of at least 1: found 0");
}

}  // namespace
}  // namespace graphc::core

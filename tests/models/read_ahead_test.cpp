// SPDX-License-Identifier: Apache-2.0
// Reading ahead: in order, while others work, never too far, and with the errors that reading has.
#include "models/read_ahead.h"

#include <gmock/gmock.h>

#include <atomic>
#include <latch>

#include "ir/error.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;

/// 1, 2, ... to `last`.
std::function<std::optional<int>()> counting_to(int last) {
  return [last, next = 0]() mutable { return next < last ? std::optional(++next) : std::nullopt; };
}

TEST(ReadAhead, HandsOutEveryItemInOrderAndThenNone) {
  ReadAhead<int> reader(counting_to(5));
  for (int i = 1; i <= 5; ++i) {
    ASSERT_NE(reader.front(), nullptr);
    EXPECT_EQ(*reader.front(), i);
    const auto [item, made] = reader.next();
    EXPECT_EQ(item, i);
    EXPECT_LE(made.began, made.ended);
    EXPECT_LE(made.ended, steady_seconds());
  }
  EXPECT_EQ(reader.front(), nullptr);
}

TEST(ReadAhead, MakesTheNextItemsWhileTheLastOneIsUsed) {
  std::latch third(1);
  ReadAhead<int> reader([&, next = 0]() mutable -> std::optional<int> {
    if (++next == 3) third.count_down();
    return next;
  });
  EXPECT_EQ(reader.next().item, 1);
  // Nobody takes the second before the third is made; a reader that waits to be asked hangs here.
  third.wait();
  EXPECT_EQ(reader.next().item, 2);
}

TEST(ReadAhead, KeepsNoMoreThanItMay) {
  std::atomic<int> made = 0;
  {
    ReadAhead<int> reader([&] { return std::optional(++made); }, 3);
    for (int taken = 1; taken <= 50; ++taken) {
      reader.next();
      // Three that wait, and one for which there was room when this was taken.
      EXPECT_LE(made, taken + 3);
    }
  }
  EXPECT_LE(made, 53);
}

TEST(ReadAhead, EndsWithItemsLeftAndWithNoneTaken) {
  {
    const ReadAhead<int> reader(counting_to(1000));
  }
  ReadAhead<int> reader(counting_to(1000));
  reader.next();
}

TEST(ReadAhead, ThrowsInTheItemsPlaceWhatMakingItThrew) {
  ReadAhead<int> reader([next = 0]() mutable -> std::optional<int> {
    if (++next == 2) throw input_error({}, "line {} is no number", next);
    return next;
  });
  EXPECT_EQ(reader.next().item, 1);
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { reader.front(); }),
                ::testing::HasSubstr("line 2 is no number"));
  }
}

TEST(ReadAhead, AskedForMoreThanThereIsSaysSo) {
  int made = 0;
  ReadAhead<int> reader([&] { return made < 2 ? std::optional(made++) : std::nullopt; });
  reader.next();
  reader.next();
  EXPECT_EQ(reader.front(), nullptr);
  EXPECT_THROW(reader.next(), Error);
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Calls in turns on one thread: order, stacks, ends at different times, control words.
#include "runtime/fibers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <string>
#include <thread>
#include <vector>

namespace graphc::core {
namespace {

using ::testing::ElementsAre;

template <typename Function>
void in_turns(Fibers& fibers, Function function) {
  fibers.run([](void* target, int index) { (*static_cast<Function*>(target))(index); }, &function);
}

TEST(Fibers, TakeTurnsInTheOrderOfTheirIndices) {
  Fibers fibers(3);
  const auto thread = std::this_thread::get_id();
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<int> order;
    in_turns(fibers, [&](int index) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      for (int turn = 0; turn < 2; ++turn) {
        order.push_back(10 * turn + index);
        fibers.pass();
      }
    });
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 10, 11, 12));
  }
}

TEST(Fibers, ThatHaveReturnedAreLeftOut) {
  for (int first = 0; first < 3; ++first) {
    Fibers fibers(3);
    std::vector<int> order;
    in_turns(fibers, [&](int index) {
      for (int turn = 0; turn < (index == first ? 1 : 3); ++turn) {
        if (turn > 0) fibers.pass();
        order.push_back(10 * turn + index);
      }
    });
    const int a = first == 0, b = first == 2 ? 1 : 2;
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 10 + a, 10 + b, 20 + a, 20 + b)) << first;
  }
}

TEST(Fibers, AloneGoOn) {
  Fibers fibers(1);
  int turns = 0;
  in_turns(fibers, [&](int) {
    for (; turns < 3; ++turns) fibers.pass();
  });
  EXPECT_EQ(turns, 3);
}

TEST(Fibers, HaveStacksOfTheirOwn) {
  Fibers fibers(4);
  in_turns(fibers, [&](int index) {
    std::array<int, 10000> own;
    for (int turn = 0; turn < 5; ++turn) {
      own.fill(100 * index + turn);
      fibers.pass();
      for (const int value : own) ASSERT_EQ(value, 100 * index + turn);
    }
  });
}

TEST(Fibers, CatchWhatIsThrownWithinThem) {
  Fibers fibers(2);
  int caught = 0;
  in_turns(fibers, [&](int index) {
    for (int turn = 0; turn < 3; ++turn) {
      try {
        if (index == turn % 2) throw std::string("thrown");
      } catch (const std::string&) {
        ++caught;
      }
      fibers.pass();
    }
  });
  EXPECT_EQ(caught, 3);
}

TEST(Fibers, KeepTheirRounding) {
  Fibers fibers(2);
  const std::array<int, 2> modes = {FE_UPWARD, FE_DOWNWARD};
  in_turns(fibers, [&](int index) {
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    std::fesetround(modes[size_t(index)]);
    fibers.pass();
    EXPECT_EQ(std::fegetround(), modes[size_t(index)]);
    std::fesetround(FE_TONEAREST);
  });
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

}  // namespace
}  // namespace graphc::core

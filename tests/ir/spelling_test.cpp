// SPDX-License-Identifier: Apache-2.0
// "Did you mean": which word is near.
#include "ir/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace graphc::core {
namespace {

TEST(Spelling, AnEditOfOneLetterIsNear) {
  const std::array<std::string_view, 3> words{"hoist", "unroll", "cse"};
  EXPECT_EQ(nearest_word("hoist", words), "hoist");
  EXPECT_EQ(nearest_word("hist", words), "hoist");
  EXPECT_EQ(nearest_word("hoisst", words), "hoist");
  EXPECT_EQ(nearest_word("hoizt", words), "hoist");
  EXPECT_EQ(nearest_word("hosit", words), "hoist");
  EXPECT_EQ(nearest_word("ces", words), "cse");
}

TEST(Spelling, AThirdOfTheLettersMayDiffer) {
  const std::array<std::string_view, 2> words{"simplify", "fuse"};
  EXPECT_EQ(nearest_word("simlpfy", words), "simplify");
  EXPECT_EQ(nearest_word("smplfi", words), "");
  EXPECT_EQ(nearest_word("fs", words), "");
  EXPECT_EQ(nearest_word("", words), "");
}

TEST(Spelling, TheFirstOfEquallyNearWordsIsTaken) {
  const std::array<std::string_view, 2> words{"tan", "tanh"};
  EXPECT_EQ(nearest_word("tanx", words), "tan");
  EXPECT_EQ(did_you_mean("tanx", {"tanh", "tan"}), "; did you mean 'tanh'?");
  EXPECT_EQ(did_you_mean("softmax", {"tanh", "tan"}), "");
}

}  // namespace
}  // namespace graphc::core

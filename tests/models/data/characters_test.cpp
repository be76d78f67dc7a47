// SPDX-License-Identifier: Apache-2.0
// Text as characters: numbering, UTF-8 and what is none.
#include "models/data/characters.h"

#include <gmock/gmock.h>

#include "ir/error.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Characters, AreNumberedByFrequencyThenByCodePoint) {
  const Characters characters("bcaacbcé", 10);
  EXPECT_EQ(characters.size(), 5);
  EXPECT_EQ(characters.to_text(), "cabé");
  EXPECT_THAT(characters.ids("abcé?"), ElementsAre(1, 2, 0, 3, 4));
  EXPECT_EQ(characters.text(3), "é");
  EXPECT_EQ(characters.text(4), "\uFFFD");
}

TEST(Characters, TheRareOnesShareTheLastId) {
  const Characters characters("aaabbc", 3);
  EXPECT_EQ(characters.size(), 3);
  EXPECT_THAT(characters.ids("cabz"), ElementsAre(2, 0, 1, 2));
}

TEST(Characters, ComeBackFromTheirText) {
  const Characters characters("x→😀\n→y→", 10);
  const Characters again = Characters::from_text(characters.to_text());
  EXPECT_EQ(again.to_text(), characters.to_text());
  EXPECT_EQ(again.ids("→😀\nz"), characters.ids("→😀\nz"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { Characters::from_text("aba"); }), HasSubstr("twice"));
}

TEST(Characters, WhatIsNoUtf8IsOneOfTheOthersByteByByte) {
  const Characters characters("ab", 10);
  // A byte that goes on without a beginning, an unfinished one, too long a form, a surrogate, and a
  // code point above the last.
  for (const char* bytes : {"\x80", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    const std::string text = std::string("a") + bytes + "b";
    std::vector<int32_t> wanted(text.size(), 2);
    wanted.front() = 0;
    wanted.back() = 1;
    EXPECT_EQ(characters.ids(text), wanted) << text.size();
  }
  EXPECT_THAT(error_of(ErrorKind::input, [] { Characters("\xFF", 10); }),
              HasSubstr("without characters"));
}

TEST(Characters, SayWhatOfATextTheyLack) {
  const Characters characters("ab", 10);
  const Unknown unknown = characters.unknown("aébé→");
  EXPECT_EQ(unknown.all, 5);
  EXPECT_EQ(unknown.total(), 3);
  EXPECT_EQ(unknown.to_text("characters"),
            "3 of 5 characters are not in the model's vocabulary ('é' 2, '→' 1)");
  EXPECT_TRUE(characters.unknown("ab").counts.empty());
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "models/data/character_windows.h"

#include <gmock/gmock.h>

#include "models/random_inputs.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CharacterWindows, LowersAsciiAndLatin1AndNothingElse) {
  EXPECT_EQ(lower_case("AZ[az@ \u00c6\u00c0\u00de\u00d7\u00f7\u00df\u0391"),
            "az[az@ \u00e6\u00e0\u00fe\u00d7\u00f7\u00df\u0391");
  // The second byte of another character is no letter.
  EXPECT_EQ(lower_case("\u0280\u4e80"), "\u0280\u4e80");
}

TEST(CharacterWindows, KeepsTheRunsOfALine) {
  EXPECT_EQ(alphanumeric(" = Valkyria 3 @-@ II = \n\n a.b\n"), "Valkyria 3 IIa b");
  EXPECT_EQ(alphanumeric("\u00e9t\u00e9 1,000"), "t 1 000");
  EXPECT_EQ(alphanumeric("\n.,\n"), "");
}

TEST(CharacterWindows, AnAlphabetHasEveryCharacterOnceInTheirOrder) {
  EXPECT_EQ(alphabet_of("b\u00e9a\nab\u00e4"), "\nab\u00e4\u00e9");
  EXPECT_THAT(error_of(ErrorKind::input, [] { alphabet_of("ab\xff"); }), HasSubstr("byte 2"));
}

TEST(CharacterWindows, BeginEveryStrideAsLongAsACharacterFollows) {
  const CharacterWindows windows({0, 1, 2, 3, 4, 5, 6, 7, 8}, 3, 2);
  // 0 1 2 -> 3, 2 3 4 -> 5, 4 5 6 -> 7; the fourth would need a character behind the last.
  ASSERT_EQ(windows.count(), 3);
  const std::vector<int64_t> order{2, 0};
  const std::vector<Tensor> batch = windows.batch(order);
  EXPECT_EQ(batch[0].shape(), (Shape{3, 2}));
  EXPECT_THAT(batch[0].to_vector<int>(), ElementsAre(4, 0, 5, 1, 6, 2));
  EXPECT_THAT(batch[1].to_vector<int>(), ElementsAre(7, 3));
  EXPECT_EQ(CharacterWindows({0, 1, 2, 3}, 3, 5).count(), 1);
  EXPECT_THAT(error_of(ErrorKind::input, [] { CharacterWindows({1, 2}, 2, 1); }),
              HasSubstr("has 2 characters: wanted more than 2"));
}

TEST(CharacterWindows, ReadAFileOrItsFolder) {
  const testing::TemporaryFolder folder;
  const auto file = folder.add("nietzsche.txt", "PREFACE\n");
  EXPECT_EQ(read_nietzsche(file), "preface\n");
  EXPECT_EQ(read_nietzsche(folder.path()), "preface\n");
  folder.add("valid.txt", "A <unk> B\nC");
  EXPECT_EQ(read_wikitext2_characters(folder.path(), "valid"), "a unk bc");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_wikitext2_characters(folder.path(), "test"); }),
              HasSubstr("test.txt"));
}

/// W4's counts.
TEST(CharacterWindows, OfNietzscheAreAsManyAsTheWorkloadSays) {
  const auto folder = testing::find_corpus("nietzsche");
  if (!folder) GTEST_SKIP() << "needs the corpus nietzsche";
  const std::string text = read_nietzsche(*folder);
  const Characters known = Characters::from_text(alphabet_of(text));
  EXPECT_EQ(known.size() - 1, 57);
  EXPECT_EQ(CharacterWindows(known.ids(text), 40, 3).count(), 200'285);
}

TEST(CharacterWindows, OfWikiText2AreAsManyAsTheWorkloadSays) {
  const auto folder = testing::find_corpus("wikitext-2");
  if (!folder) GTEST_SKIP() << "needs the corpus wikitext-2";
  const std::string text = read_wikitext2_characters(*folder, "train");
  EXPECT_EQ(text.size(), 9'901'140u);
  // An id for each byte: decoding ten million of them again is not what is tested here.
  EXPECT_EQ(alphabet_of(text.substr(0, 1'000'000)), " 0123456789abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(CharacterWindows(std::vector<int32_t>(text.size()), 40, 3).count(), 3'300'367);
}

TEST(Shuffled, IsAnOrderOfItsOwnForEachSeedAndEpoch) {
  const std::vector<int64_t> one = shuffled(1000, 3, 0);
  EXPECT_EQ(shuffled(1000, 3, 0), one);
  EXPECT_NE(shuffled(1000, 3, 1), one);
  EXPECT_NE(shuffled(1000, 4, 0), one);
  // Neither does a seed's second epoch have the order of the next seed's first.
  EXPECT_NE(shuffled(1000, 3, 1), shuffled(1000, 4, 0));
  std::vector<int64_t> sorted = one;
  std::ranges::sort(sorted);
  int64_t moved = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(sorted[size_t(i)], i);
    moved += one[size_t(i)] != i ? 1 : 0;
  }
  EXPECT_GT(moved, 980);
  EXPECT_THAT(shuffled(0, 1, 0), ElementsAre());
  EXPECT_THAT(shuffled(1, 1, 0), ElementsAre(0));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Text corpora: splitting, numbering, windows, and the counts of the real Penn Treebank files.
#include "models/data/text_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/files/files.h"
#include "tests/testing/corpus.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TemporaryFolder;

TextCorpus tiny() { return read_ptb(testing::tiny_ptb()); }

TEST(SplitWords, AtSpacesAndNewlinesOnly) {
  EXPECT_THAT(split_words(" a  b\nc\t\xc2\xa0 \n\n"),
              ElementsAre("a", "b", "<eos>", "c\t\xc2\xa0", "<eos>", "<eos>"));
  EXPECT_THAT(split_words("a"), ElementsAre("a"));
  EXPECT_THAT(split_words("\n"), ElementsAre("<eos>"));
  EXPECT_THAT(split_words(""), IsEmpty());
  EXPECT_THAT(split_words("  "), IsEmpty());
}

TEST(SplitWords, ALineWithoutWordsMayBeNone) {
  EXPECT_THAT(split_words("\n a\n \n\nb c\n  ", BlankLines::dropped),
              ElementsAre("a", "<eos>", "b", "c", "<eos>"));
  EXPECT_THAT(split_words("\n a\n \n\nb c\n  "),
              ElementsAre("<eos>", "a", "<eos>", "<eos>", "<eos>", "b", "c", "<eos>"));
}

TEST(Vocabulary, OfTheMostFrequentEndsInTheWordForAllOthers) {
  const auto words = split_words("b a c b \xff\xff \xff\xff <unk> <unk> <unk> a b\n");
  const Vocabulary all = Vocabulary::most_frequent(words, 100);
  EXPECT_EQ(all.to_text(), "b a <eos> c <unk>");
  const Vocabulary some = Vocabulary::most_frequent(words, 3);
  EXPECT_EQ(some.to_text(), "b a <unk>");
  EXPECT_THAT(some.ids(words, "f", ""), ElementsAre(0, 1, 2, 0, 2, 2, 2, 2, 2, 1, 0, 2));
  EXPECT_EQ(Vocabulary::most_frequent({}, 3).to_text(), "<unk>");
}

TEST(Vocabulary, OrdersByFrequencyThenBytes) {
  const auto words = split_words("b a Z b \xc3\xa9 aa a");
  const Vocabulary vocabulary(words);
  std::vector<std::string> order;
  for (int32_t id = 0; id < vocabulary.size(); ++id) order.push_back(vocabulary.word(id));
  EXPECT_THAT(order, ElementsAre("a", "b", "Z", "aa", "\xc3\xa9"));
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    EXPECT_EQ(vocabulary.id(order[size_t(id)]), id);
  EXPECT_EQ(vocabulary.id("c"), std::nullopt);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { vocabulary.word(5); }),
            "the vocabulary has the ids 0 to 4: found 5");
  error_of(ErrorKind::input, [&] { vocabulary.word(-1); });
}

TEST(TextCorpus, ReadsThreeStreams) {
  const TextCorpus corpus = tiny();
  // Counts: <eos> 3, the 3, cat 2, then one each of <unk> a b dog sat.
  EXPECT_EQ(corpus.vocabulary.size(), 8);
  EXPECT_THAT(corpus.train, ElementsAre(1, 2, 7, 0, 1, 6, 3, 1, 2, 0, 4, 5, 0));
  EXPECT_THAT(corpus.valid, ElementsAre(1, 3, 7, 0)) << "a word out of the vocabulary is <unk>";
  EXPECT_THAT(corpus.test, ElementsAre(4, 2, 0, 0, 5));
}

TEST(TextCorpus, AWordOutOfAVocabularyWithoutUnknown) {
  const TemporaryFolder folder;
  folder.add("ptb.train.txt", "a b\n");
  const std::string valid = folder.add("ptb.valid.txt", "a\nb c\n").string();
  folder.add("ptb.test.txt", "a\n");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { read_ptb(folder.path()); }),
            "'" + valid + "' line 2: 'c' is not in the vocabulary, which has no <unk>");
}

TEST(TextCorpus, FilesThatAreMissingOrEmpty) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const auto message = [&] { return error_of(ErrorKind::input, [&] { read_ptb(folder.path()); }); };
  EXPECT_EQ(message(), "cannot read '" + path("ptb.train.txt") + "': No such file or directory");
  folder.add("ptb.train.txt", "a\n");
  EXPECT_EQ(message(), "cannot read '" + path("ptb.valid.txt") + "': No such file or directory");
  folder.add("ptb.valid.txt", " ");
  EXPECT_EQ(message(),
            "'" + path("ptb.valid.txt") + "' holds no words: wanted text, a sentence a line");
  try {
    read_ptb(folder.path() / "elsewhere");
  } catch (const Error& error) {
    EXPECT_THAT(error.notes(),
                ElementsAre("wanted a folder with ptb.train.txt, ptb.valid.txt and ptb.test.txt"));
  }
}

/// Sets GRAPHC_DATA, or unsets it, while it lives.
class DataVariable {
 public:
  explicit DataVariable(const char* value) {
    if (const char* before = getenv("GRAPHC_DATA")) before_ = before;
    value != nullptr ? setenv("GRAPHC_DATA", value, 1) : unsetenv("GRAPHC_DATA");
  }
  ~DataVariable() {
    before_ ? setenv("GRAPHC_DATA", before_->c_str(), 1) : unsetenv("GRAPHC_DATA");
  }

 private:
  std::optional<std::string> before_;
};

TEST(CorpusFolder, IsGivenOrInTheEnvironment) {
  {
    const DataVariable variable("/data");
    EXPECT_EQ(corpus_folder(std::nullopt, "ptb"), "/data/ptb");
    EXPECT_EQ(corpus_folder("/here", "ptb"), "/here");
  }
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const DataVariable variable(value);
    EXPECT_EQ(corpus_folder("here", "ptb"), "here");
    EXPECT_EQ(error_of(ErrorKind::input, [] { corpus_folder(std::nullopt, "ptb"); }),
              "no folder for the corpus 'ptb': wanted its path, or GRAPHC_DATA set to the folder "
              "that has it");
  }
}

std::vector<int32_t> counting(int count) {
  std::vector<int32_t> stream(static_cast<size_t>(count));
  std::iota(stream.begin(), stream.end(), 0);
  return stream;
}

TEST(Windows, AreColumnsOfContiguousRows) {
  // Two rows of 8 (one token dropped): 0..7 and 8..15.
  const auto stream = counting(17);
  const Windows windows(stream, 2, 3);
  ASSERT_EQ(windows.count(), 2);
  const Window first = windows.window(0), second = windows.window(1);
  EXPECT_EQ(first.tokens.type(), (Type{DType::i32, {3, 2}}));
  EXPECT_EQ(first.tokens.to_text(), "[[0, 8], [1, 9], [2, 10]]");
  EXPECT_EQ(first.targets.to_text(), "[[1, 9], [2, 10], [3, 11]]");
  EXPECT_EQ(second.tokens.to_text(), "[[3, 11], [4, 12], [5, 13]]");
  EXPECT_EQ(second.targets.to_text(), "[[4, 12], [5, 13], [6, 14]]");
  error_of(ErrorKind::internal, [&] { windows.window(2); });
  error_of(ErrorKind::internal, [&] { windows.window(-1); });
}

TEST(Windows, CountNeedsATargetForTheLastColumn) {
  const auto stream = counting(100);
  const auto count = [&](int length, int64_t batch, int64_t steps) {
    return Windows(std::span(stream).first(size_t(length)), batch, steps).count();
  };
  EXPECT_EQ(count(4, 1, 3), 1);
  EXPECT_EQ(count(6, 1, 3), 1);
  EXPECT_EQ(count(7, 1, 3), 2);
  EXPECT_EQ(count(100, 1, 1), 99);
  EXPECT_EQ(count(100, 50, 1), 1);
}

TEST(Windows, StreamsThatAreTooShort) {
  const auto stream = counting(11);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Windows(stream, 3, 3); }),
            "11 tokens make 3 rows of 3: too few for 3 steps and the token after them");
  error_of(ErrorKind::input, [&] { Windows(stream, int64_t{1} << 62, int64_t{1} << 62); });
  error_of(ErrorKind::input, [&] { Windows({}, 1, 1); });
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Windows(stream, 0, 3); }),
            "batch and steps are at least 1: found 0 and 3");
  error_of(ErrorKind::input, [&] { Windows(stream, 3, 0); });
}

TEST(Wikitext2, ABlankLineEndsOrIsNone) {
  const TextCorpus kept = read_wikitext2(testing::tiny_wikitext2(), BlankLines::kept);
  const TextCorpus dropped = read_wikitext2(testing::tiny_wikitext2(), BlankLines::dropped);
  EXPECT_EQ(kept.vocabulary.size(), 18);
  EXPECT_EQ(dropped.vocabulary.size(), 18);
  // Lines are blank before and behind each heading: 3 headings, 2 and 1.
  EXPECT_EQ(kept.train.size(), dropped.train.size() + 6);
  EXPECT_EQ(kept.valid.size(), dropped.valid.size() + 4);
  EXPECT_EQ(kept.test.size(), dropped.test.size() + 2);
  EXPECT_EQ(kept.vocabulary.word(kept.train[0]), kEndOfLine);
  EXPECT_EQ(dropped.vocabulary.word(dropped.train[0]), "=");
}

TEST(Wikitext2, IsReadUnderTheNamesItIsDistributedWith) {
  const TemporaryFolder folder;
  folder.add("train.txt", "x\n");
  folder.add("wiki.train.tokens", "a <unk>\n");
  folder.add("wiki.valid.tokens", "b\n");
  const auto read = [&] { return read_wikitext2(folder.path(), BlankLines::kept); };
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read(); }), HasSubstr("wiki.test.tokens'"));
  folder.add("wiki.test.tokens", "a\n");
  EXPECT_EQ(read().vocabulary.to_text(), "<eos> <unk> a");
  EXPECT_THAT(read().valid, ElementsAre(1, 0));
}

TEST(Wikitext2, AWordOutOfTheVocabularyHasTheLineOfTheFile) {
  const TemporaryFolder folder;
  folder.add("train.txt", "a\n");
  const std::string valid = folder.add("valid.txt", " \n\na\n \n c\n").string();
  folder.add("test.txt", "a\n");
  for (BlankLines blank : {BlankLines::kept, BlankLines::dropped}) {
    EXPECT_EQ(error_of(ErrorKind::input, [&] { read_wikitext2(folder.path(), blank); }),
              "'" + valid + "' line 5: 'c' is not in the vocabulary, which has no <unk>");
  }
}

TEST(Wikitext2, HasThePublishedCounts) {
  const auto folder = testing::find_corpus("wikitext-2");
  if (!folder) GTEST_SKIP() << "needs the corpus wikitext-2 (GRAPHC_DATA)";
  const TextCorpus corpus = read_wikitext2(*folder, BlankLines::dropped);
  EXPECT_EQ(corpus.vocabulary.size(), 33'278);
  EXPECT_EQ(corpus.train.size(), 2'075'677u);
  EXPECT_EQ(corpus.valid.size(), 216'347u);
  EXPECT_EQ(corpus.test.size(), 244'102u);
  const int32_t unknown = corpus.vocabulary.id(kUnknownWord).value();
  EXPECT_EQ(std::count(corpus.train.begin(), corpus.train.end(), unknown), 54'625);
  EXPECT_EQ(std::count(corpus.valid.begin(), corpus.valid.end(), unknown), 11'718);
  EXPECT_EQ(std::count(corpus.test.begin(), corpus.test.end(), unknown), 15'218);
  // Of 128 rows and 128 steps; what is left of the rows is dropped.
  EXPECT_EQ(Windows(corpus.train, 128, 128).count(), 126);
  EXPECT_EQ(Windows(corpus.valid, 128, 128).count(), 13);
  EXPECT_EQ(Windows(corpus.test, 128, 128).count(), 14);
}

TEST(Wikitext2, EveryLineOfTheFilesMayEnd) {
  const auto folder = testing::find_corpus("wikitext-2");
  if (!folder) GTEST_SKIP() << "needs the corpus wikitext-2 (GRAPHC_DATA)";
  const std::pair<const char*, size_t> splits[] = {
      {"train.txt", 2'088'628}, {"valid.txt", 217'646}, {"test.txt", 245'569}};
  for (const auto& [name, words] : splits) {
    const std::string text = read_file(*folder / name, kMostOfText);
    EXPECT_EQ(split_words(text, BlankLines::kept).size(), words) << name;
  }
}

TEST(PennTreebank, HasThePublishedCounts) {
  const auto folder = testing::find_corpus("ptb");
  if (!folder) GTEST_SKIP() << "needs the corpus ptb (GRAPHC_DATA)";
  const TextCorpus corpus = read_ptb(*folder);
  const Vocabulary& vocabulary = corpus.vocabulary;
  EXPECT_EQ(vocabulary.size(), 10'000);
  EXPECT_EQ(corpus.train.size(), 929'589u);
  EXPECT_EQ(corpus.valid.size(), 73'760u);
  EXPECT_EQ(corpus.test.size(), 82'430u);

  const auto count = [&](const std::vector<int32_t>& stream, std::string_view word) {
    return std::count(stream.begin(), stream.end(), vocabulary.id(word).value());
  };
  EXPECT_EQ(count(corpus.train, kEndOfLine), 42'068);
  EXPECT_EQ(count(corpus.valid, kEndOfLine), 3'370);
  EXPECT_EQ(count(corpus.test, kEndOfLine), 3'761);
  EXPECT_EQ(count(corpus.train, kUnknownWord), 45'020);
  EXPECT_EQ(count(corpus.valid, kUnknownWord), 3'485);
  EXPECT_EQ(count(corpus.test, kUnknownWord), 4'794);

  for (int32_t id = 1; id < 100; ++id) {
    const auto before = count(corpus.train, vocabulary.word(id - 1));
    const auto here = count(corpus.train, vocabulary.word(id));
    EXPECT_TRUE(before > here || (before == here && vocabulary.word(id - 1) < vocabulary.word(id)))
        << id;
  }
  EXPECT_EQ(vocabulary.word(corpus.train[0]), "aer");
}

TEST(PennTreebank, HasThePublishedSteps) {
  const auto folder = testing::find_corpus("ptb");
  if (!folder) GTEST_SKIP() << "needs the corpus ptb (GRAPHC_DATA)";
  const TextCorpus corpus = read_ptb(*folder);
  EXPECT_EQ(Windows(corpus.train, 20, 2).count(), 23'239);
  EXPECT_EQ(Windows(corpus.train, 20, 20).count(), 2'323);
  EXPECT_EQ(Windows(corpus.train, 20, 35).count(), 1'327);
  const Windows windows(corpus.train, 20, 20);
  const Window last = windows.window(2'322);
  EXPECT_EQ(last.tokens.data<int32_t>()[19], corpus.train[19 * 46'479 + 2'322 * 20]);
  EXPECT_EQ(last.targets.data<int32_t>()[399], corpus.train[19 * 46'479 + 2'322 * 20 + 20]);
}

}  // namespace
}  // namespace graphc::core

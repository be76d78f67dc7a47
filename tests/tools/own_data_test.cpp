// SPDX-License-Identifier: Apache-2.0
// Texts and tables as people have them, from the command line: read as they are meant, or refused
// by name, with the exit code of an input.
#include <gmock/gmock.h>

#include <string>

#include "runtime/files/files.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::string_literals;

const std::string kCharacters =
    "graphc train char-lm hidden=4 steps=6 batch=2 --max-steps 1 "
    "--target=reference --data ";
const std::string kForecast =
    "graphc train forecast hidden=2 steps=3 batch=8 --max-steps 1 "
    "--target=reference --data ";

class OwnData : public ::testing::Test {
 protected:
  Ran bash(const std::string& script) const { return run_bash(script, folder_); }
  void refuses(const std::string& script, const std::string& says) const {
    const Ran ran = bash(script);
    EXPECT_EQ(ran.code, 3) << script << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(says)) << script;
  }
  static std::string repeated(const std::string& line) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += line;
    return text;
  }

  const TemporaryFolder folder_;
};

TEST_F(OwnData, TextsOfOtherEncodingsAndFormatsAreRefusedByNameInFoldersToo) {
  folder_.add("cp/quotes.txt", repeated("It\x92s a \x93quiet\x94 day \x96 the sea\n"));
  folder_.add("cp/plain.txt", repeated("It's a quiet day\n"));
  std::string wide = "\xff\xfe";
  for (const char c : repeated("quiet day\n")) wide += {c, '\0'};
  folder_.add("wide/a.txt", wide);
  folder_.add("mixed/plain.txt", repeated("It's a quiet day\n"));
  folder_.add("mixed/more.txt.gz", "\x1f\x8b\x08\0\0"s);
  const std::string cp =
      "quotes.txt' is text in Windows-1252 (byte 2 is 0x92): wanted UTF-8; "
      "--encoding=windows-1252 converts it";
  refuses(kCharacters + "cp", cp);
  refuses(kCharacters + "cp/quotes.txt", cp);
  refuses(kCharacters + "wide", "a.txt' is text in UTF-16 (little endian)");
  refuses(kCharacters + "mixed/more.txt.gz", "is a gzip file: unpack it first");
  EXPECT_EQ(bash(kCharacters + "cp --encoding=windows-1252").code, 0);
  EXPECT_EQ(bash(kCharacters + "wide --encoding=utf-16").code, 0);
  const Ran mixed = bash(kCharacters + "mixed");
  EXPECT_EQ(mixed.code, 0) << mixed.err;
  EXPECT_THAT(mixed.err, HasSubstr("'mixed': left out 1 entry: more.txt.gz (a gzip file)"));
  EXPECT_EQ(bash(kCharacters + "cp --encoding=utf-99").code, 2);
}

TEST_F(OwnData, PromptsAndOtherTextsSayWhatTheModelDoesNotKnow) {
  folder_.add("text", repeated("one two three\n"));
  folder_.add("other", repeated("one zw\u00f6lf three\n"));
  ASSERT_EQ(bash(kCharacters + "text --checkpoint c").code, 0);
  ASSERT_EQ(bash("graphc train word-lm hidden=4 steps=6 batch=2 --max-steps 1 --target=reference "
                 "validation=0.3 --data text --checkpoint w")
                .code,
            0);
  Ran ran = bash("graphc generate c --prompt 'on\u00e9' --length 2 --target=reference");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("the prompt: 1 of 3 characters are not in the model's vocabulary "
                                 "('\u00e9' 1): they are read as unknown"));
  refuses("graphc generate c --prompt '\u00e9\u00e8' --target=reference",
          "2 of 2 characters are not in the model's vocabulary ('\u00e8' 1, '\u00e9' 1): wanted at "
          "least one that is");
  ran = bash("graphc generate w --prompt 'one four' --length 2 --target=reference");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("1 of 2 words are not in the model's vocabulary ('four' 1)"));
  refuses("graphc generate w --prompt 'four five' --target=reference", "2 of 2 words are not");
  for (const char* split : {"all", "valid"}) {
    for (const char* checkpoint : {"c", "w"}) {
      ran = bash(fmt::format("graphc eval {} --data other --split {} --target=reference",
                             checkpoint, split));
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_THAT(ran.out, HasSubstr("perplexity"));
      EXPECT_THAT(ran.err,
                  HasSubstr(checkpoint == "c"s ? "160 of 640 characters are not in the model's "
                                                 "vocabulary ('f' 40, 'l' 40, 'z' 40, '\u00f6' 40)"
                                               : "40 of 160 words are not"))
          << split << checkpoint;
    }
  }
  ran = bash("graphc eval c --data text --split all --target=reference");
  EXPECT_EQ(ran.err, "");
}

TEST_F(OwnData, TablesAreReadAsTheyAreMeantOrRefusedWithTheReason) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", i, i * i % 7, i % 5);
  folder_.add("index.csv", ",load,2024\n" + rows);
  folder_.add("comma.csv", "load\n" + repeated("1,5\n2,5\n"));
  folder_.add("gaps.csv", "load\n" + repeated("1\n\n3\n"));
  folder_.add("t.csv.gz", "\x1f\x8b\x08\0\0"s);
  folder_.add("half.csv", "load\n1.5\n2\n");
  const Ran index = bash(kForecast + "index.csv target=2024");
  EXPECT_EQ(index.code, 0) << index.err;
  EXPECT_THAT(index.err, HasSubstr("the first line is read as names, '2024' too"));
  refuses(kForecast + "comma.csv target=load", "say --decimal=,");
  EXPECT_EQ(bash(kForecast + "comma.csv --decimal=, target=load").code, 0);
  refuses(kForecast + "gaps.csv target=load", "gaps.csv:3: an empty line");
  for (const char* missing : {"mean", "previous", "drop", "mask"}) {
    const Ran ran = bash(kForecast + "gaps.csv target=load --missing=" + missing);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("column 'load': 40 of 120 cells are missing"));
  }
  EXPECT_EQ(bash(kForecast + "gaps.csv target=load --missing=zero").code, 2);
  EXPECT_EQ(bash(kForecast + "gaps.csv target=load --decimal=x").code, 2);
  refuses(kForecast + "t.csv.gz target=load", "is a gzip file: unpack it first (gunzip)");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST_F(OwnData, GapsAreSaidInTheWordsOfTheVerb) {
  std::string rows = "load,site\n";
  for (int i = 0; i < 80; ++i) rows += fmt::format("{},{}\n", i % 7, i % 3 == 0 ? "a" : "b");
  folder_.add("t.csv", rows);
  folder_.add("gap.csv", rows + ",a\n");
  folder_.add("site.csv", rows + "1,\n");
  const std::string train =
      "graphc train forecast target=load columns=load,site:category steps=4 hidden=4 batch=8 "
      "--quiet --epochs 1 --target=reference --data ";
  ASSERT_EQ(bash(train + "t.csv --checkpoint c && graphc export c m.graphc").code, 0);
  refuses(train + "gap.csv", "wanted a number, or --missing=mean, previous, drop or mask");
  refuses(train + "site.csv", "wanted a category, or --missing=previous, drop or mask");
  for (const std::string& verb : {"graphc eval c --target=reference --data gap.csv"s,
                                  "graphc run m.graphc --target=reference --input x=@gap.csv"s}) {
    const Ran ran = bash(verb);
    EXPECT_EQ(ran.code, 3);
    EXPECT_THAT(ran.err, HasSubstr("column 'load' is empty: wanted a number"));
    EXPECT_THAT(ran.err, Not(HasSubstr("--missing")));
  }
  // Targets that are other columns, or none of numbers.
  refuses("graphc train forecast target=load,1 --data t.csv", "are the same column");
  EXPECT_THAT(bash("graphc train forecast target=site columns=site:category --data t.csv").err,
              HasSubstr("'site:category' is a target too, which is a number"));
}

TEST_F(OwnData, AForecastGoesFromTableToTableAndToAPicture) {
  std::string rows = "time;site;load\n";
  for (int i = 0; i < 200; ++i) {
    rows += fmt::format("{:02}.01.2024 {:02}:00;{};{},{}\n", 1 + i / 24, i % 24,
                        i % 9 < 4 ? "north" : "south", 10 + i % 24, i % 10);
  }
  folder_.add("load.csv", rows);
  folder_.add("new.csv", rows.substr(0, rows.find('\n') + 1) + rows.substr(rows.size() - 400));
  Ran ran = bash(
      "graphc train forecast target=load columns=load,time:date,site:category horizon=5 "
      "steps=6 hidden=4 batch=16 missing=mask --data load.csv --epochs 2 --checkpoint c "
      "--plot p.svg --target=reference && graphc export c m.graphc");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string svg = read_file(folder_.path() / "p.svg");
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">train_loss<"), HasSubstr(">valid_naive_rmse<"),
                    HasSubstr(">forecast, 5 ahead<"), HasSubstr("</svg>"), Not(HasSubstr("nan"))));
  // The last rows of a table, whole lines of it.
  std::string tail = rows.substr(rows.size() - 400);
  tail = tail.substr(tail.find('\n') + 1);
  folder_.add("new.csv", rows.substr(0, rows.find('\n') + 1) + tail);
  const std::string run = "graphc run m.graphc --target=reference --quiet --input x=@";
  ran = bash(run + "new.csv");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("%forecast: f32[5,1,1] = "));
  EXPECT_EQ(bash(run + "load.csv").out, ran.out);
  EXPECT_THAT(ran.err, Not(HasSubstr("vocabulary")));
  // Categories that the model has not learnt, in whatever verb reads them.
  std::string strange = replaced(rows, "north", "east");
  folder_.add("strange.csv", strange);
  for (const std::string& verb :
       {"graphc eval c --target=reference --data strange.csv"s, run + "strange.csv"}) {
    ran = bash(verb);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("column 'site': 90 of 200 cells are not in the model's "
                                   "vocabulary ('east' 90): they count as one category"));
  }
  folder_.add("short.csv", rows.substr(0, rows.find('\n', 60) + 1));
  refuses(run + "short.csv --names=yes", "rows: wanted at least 6, for a window of 6 rows");
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Features of rows: numbers, dates, categories, and what fills a gap; the same after a note.
#include "models/data/table_features.h"

#include <gmock/gmock.h>

#include <cmath>

#include "ir/error.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

struct Fitted {
  TemporaryFolder folder;
  TableFeatures features;

  Fitted(const std::string& text, FeatureOptions options, int64_t rows)
      : features(std::move(options)) {
    features.fit(read(text), rows);
  }
  Table read(const std::string& text) const {
    return read_table(folder.add("t.csv", text), features.options().columns,
                      table_options({.names = true}, features.options().missing));
  }
  std::vector<float> of(const std::string& text) const {
    const std::vector<float> found = features(read(text)).to_vector();
    EXPECT_EQ(TableFeatures::from_note(features.note())(read(text)).to_vector(), found);
    return found;
  }
};

TEST(TableFeaturesTest, FillGapsByWhatTheRowsOfTrainHave) {
  const std::string text = "x\nNA\n1\nNA\n3\n100\n";
  EXPECT_THAT(Fitted(text, {.columns = {"x"}, .missing = Missing::mean}, 4).of(text),
              ElementsAre(2, 1, 2, 3, 100));
  EXPECT_THAT(Fitted(text, {.columns = {"x"}, .missing = Missing::previous}, 4).of(text),
              ElementsAre(1, 1, 1, 3, 100));
  EXPECT_THAT(Fitted(text, {.columns = {"x"}, .missing = Missing::drop}, 4).of(text),
              ElementsAre(1, 3, 100));
  const Fitted mask(text, {.columns = {"x"}, .missing = Missing::mask}, 4);
  EXPECT_EQ(mask.features.width(), 2);
  EXPECT_THAT(mask.of(text), ElementsAre(2, 0, 1, 1, 2, 0, 3, 1, 100, 1));
  // Other rows, by the same mean.
  EXPECT_THAT(mask.of("x\nNA\n"), ElementsAre(2, 0));
}

TEST(TableFeaturesTest, NumberCategoriesByHowOftenTrainHasThem) {
  const std::string text = "s,x\na,1\nb,2\nb,3\nc,4\nc,5\nc,6\nd,7\n";
  const Fitted one(text, {.columns = {"s:category", "x"}, .categories = 3}, 6);
  EXPECT_EQ(one.features.plain(), 1);
  EXPECT_EQ(one.features.categorical(), 1);
  EXPECT_THAT(one.of("s,x\nb,1\nc,2\na,3\nz,4\n"), ElementsAre(1, 1, 2, 0, 3, 2, 4, 2));
}

TEST(TableFeaturesTest, SayWhichCategoriesCountAsOne) {
  const std::string text = "s,x\na,1\nb,2\nb,3\nc,4\nc,5\nc,6\nd,7\n,8\n";
  const Fitted one(text,
                   {.columns = {"s:category", "x"}, .missing = Missing::mask, .categories = 3}, 6);
  const auto remarks = [&](const std::string& rows) {
    const Table table = one.read(rows);
    const TableFeatures noted = TableFeatures::from_note(one.features.note());
    EXPECT_EQ(noted.remarks(table).size(), one.features.remarks(table).size());
    return one.features.remarks(table);
  };
  // a is one too many, d only behind the rows of train; a missing one has a remark of its own.
  EXPECT_THAT(
      remarks(text),
      ElementsAre(HasSubstr(
          "t.csv: column 's': 2 of 7 cells are not in the model's vocabulary ('a' 1, 'd' 1): "
          "they count as one category; categories=4 has all 3 of the rows to train on")));
  EXPECT_THAT(remarks("s,x\nb,1\nc,2\n"), ::testing::IsEmpty());
  // Every one is unknown.
  const Fitted all(text, {.columns = {"s:category"}, .missing = Missing::mask}, 8);
  EXPECT_THAT(
      TableFeatures::from_note(all.features.note()).remarks(all.read("s\nz\ny\nz\n")),
      ElementsAre(HasSubstr("3 of 3 cells are not in the model's vocabulary ('z' 2, 'y' 1): "
                            "they count as one category")));
  EXPECT_THAT(all.features.remarks(all.read(text)), ::testing::IsEmpty());
}

TEST(TableFeaturesTest, TurnDatesIntoHourWeekdayAndSeason) {
  // Noon of Monday, 1 January 2024; and six hours later.
  const std::string text = "t\n2024-01-01 12:00\n2024-01-01 18:00\n";
  const Fitted one(text, {.columns = {"t:date"}}, 2);
  const std::vector<float> found = one.of(text);
  ASSERT_EQ(found.size(), 12u);
  EXPECT_THAT(found[0], FloatNear(0, 1e-6f));
  EXPECT_THAT(found[1], FloatNear(-1, 1e-6f));
  EXPECT_THAT(found[6], FloatNear(-1, 1e-6f));
  EXPECT_THAT(found[7], FloatNear(0, 1e-6f));
  EXPECT_THAT(found[2], FloatNear(float(std::sin(M_PI / 7)), 1e-5f));
  EXPECT_THAT(found[3], FloatNear(float(std::cos(M_PI / 7)), 1e-5f));
  EXPECT_THAT(found[5], FloatNear(1, 1e-3f));
}

TEST(TableFeaturesTest, ErrorsSayWhatIsMissing) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { TableFeatures({.columns = {":date"}}); }),
              HasSubstr("a column without a name"));
  EXPECT_THAT(error_of(ErrorKind::input, [] { TableFeatures::from_note("{}"); }),
              HasSubstr("a note on a table is not"));
  EXPECT_THAT(
      error_of(ErrorKind::input,
               [] { Fitted("x\nNA\n1\n", {.columns = {"x"}, .missing = Missing::mean}, 1); }),
      HasSubstr("column 'x' has no value in the rows to train on"));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Tables: every form of delimited text however it is cut into pieces, arrays, and what is wrong
// with a file said with its line.
#include "models/data/table.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "models/data/delimited.h"
#include "models/data/table_windows.h"
#include "runtime/files/files.h"
#include "runtime/files/npy.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Records = std::vector<std::pair<int64_t, DelimitedText::Cells>>;

Records records_of(std::string_view text, size_t piece) {
  Records records;
  DelimitedText delimited("f", [&](const DelimitedText::Cells& cells, int64_t line) {
    records.emplace_back(line, cells);
  });
  for (size_t at = 0; at < text.size(); at += piece) delimited.add(text.substr(at, piece));
  delimited.end();
  return records;
}

TEST(Delimited, HasTheRecordsWhateverThePieces) {
  const std::string text =
      "\xef\xbb\xbf\"a,b\",c\r\n 1 , \"2\"\r\n\"x\"\"y\n,z\",\"\"\n\n3,4,\n\"5\" ,6";
  const Records wanted{{1, {"a,b", "c"}}, {2, {"1", "\"2\""}}, {3, {"x\"y\n,z", ""}},
                       {5, {""}},         {6, {"3", "4", ""}}, {7, {"5", "6"}}};
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, text.size()})
    EXPECT_EQ(records_of(text, piece), wanted) << piece;
}

TEST(Delimited, FindsTheDelimiterInTheFirstRecord) {
  EXPECT_EQ(records_of("a\tb,c\td\n1\t2,5\t3\n", 100),
            (Records{{1, {"a", "b,c", "d"}}, {2, {"1", "2,5", "3"}}}));
  EXPECT_EQ(records_of("\"a,,,\";b\n", 2), (Records{{1, {"a,,,", "b"}}}));
  EXPECT_EQ(records_of("a\n1;2\n", 4), (Records{{1, {"a"}}, {2, {"1;2"}}}));
  EXPECT_EQ(records_of("", 1), Records{});
}

TEST(Delimited, ErrorsHaveTheLine) {
  const auto message = [](std::string_view text) {
    return error_of(ErrorKind::input, [&] { records_of(text, 3); });
  };
  EXPECT_EQ(message("a,b\n1,\"2\n\n"), "f:2: a quote that is not closed");
  EXPECT_EQ(message("\"a"), "f:1: a quote that is not closed");
  EXPECT_EQ(message("a;b\n\n\"1\"2;3\n"),
            "f:3: '2' after a closing quote: wanted ';' or the end of the line");
  EXPECT_EQ(message(std::string("a\n1\n2\0", 7)),
            "f:3: a byte 0: wanted a table as text, or a .npy file");
  const std::string long_line(DelimitedText::kMostOfRecord + 1, '7');
  EXPECT_THAT(error_of(ErrorKind::input, [&] { records_of(long_line, 1 << 12); }),
              HasSubstr("f:1: a record of more than 1048576 bytes: wanted a table of numbers"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { records_of("1\n\"" + long_line, 1 << 12); }),
              HasSubstr("f:2: a record of more than 1048576 bytes, in a quote that is not closed"));
}

Literal doubles(const std::vector<double>& values, const Shape& shape) {
  return Literal(std::span<const double>(values), shape);
}

/// The file's path is `t.csv` in messages.
class Tables : public ::testing::Test {
 protected:
  Table read(const std::string& text, const std::vector<std::string>& wanted,
             const char* name = "t.csv") {
    write_file_atomically(folder_.path() / name, text);
    return read_table(folder_.path() / name, wanted, 5);
  }
  std::string message(const std::string& text, const std::vector<std::string>& wanted) {
    const std::string found = error_of(ErrorKind::input, [&] { read(text, wanted); });
    const std::string path = (folder_.path() / "t.csv").string();
    EXPECT_THAT(found, ::testing::StartsWith(path));
    return found.substr(std::min(path.size(), found.size()));
  }

  TemporaryFolder folder_;
};

TEST_F(Tables, HaveTheColumnsThatAreWantedByNameOrNumber) {
  const std::string text = "day,cold,warm\n2020-01-01,-1.5,2e3\n2020-01-02,+7,.25\n";
  const Table table = read(text, {"warm", "cold", "3"});
  EXPECT_EQ(table.names, (std::vector<std::string>{"warm", "cold", "3"}));
  EXPECT_THAT(table.columns, ElementsAre(ElementsAre(2000, 0.25f), ElementsAre(-1.5f, 7),
                                         ElementsAre(2000, 0.25f)));
  // Without names: a line that has a number is one of numbers.
  EXPECT_THAT(read("a;1\nb;2\n\n\n", {"2"}).columns, ElementsAre(ElementsAre(1, 2)));
}

TEST_F(Tables, TinyNumbersAreZeroAndHugeOnesAreRefused) {
  EXPECT_THAT(read("x\n1e-400\n3.4e38\n", {"x"}).columns, ElementsAre(ElementsAre(0, 3.4e38f)));
  EXPECT_EQ(message("x\n1\n-1e39\n", {"x"}),
            ":3: column 'x' has -1e39: wanted a finite number within f32");
  EXPECT_EQ(message("x\n1e400\n", {"x"}),
            ":2: column 'x' has 1e400: wanted a finite number within f32");
}

TEST_F(Tables, ColumnsThatF32DoesNotTellApartAreRefused) {
  EXPECT_EQ(message("t\n16777216000\n16777216001\n16777216002\n", {"t"}),
            ": column 't': f32 rounds its numbers by up to 2, and their standard deviation is "
            "0.816: wanted them without an offset as large as 1.68e+10");
  // Far from 0, and yet far apart; or all the same.
  EXPECT_EQ(read("t\n16777216001\n17777216001\n", {"t"}).rows(), 2);
  EXPECT_EQ(read("t\n16777216001\n16777216001\n", {"t"}).rows(), 2);
  EXPECT_EQ(read("t\n0.1\n0.2\n", {"t"}).rows(), 2);
}

TEST_F(Tables, ErrorsHaveFileLineAndColumn) {
  EXPECT_EQ(message("x,y\n1,2\n3,\n", {"y"}), ":3: column 'y' is empty: wanted a number");
  EXPECT_EQ(message("x,y\n1,2\n3,4 C\n", {"2"}), ":3: column '2' has '4 C': wanted a number");
  EXPECT_EQ(message("x\nnan\n", {"x"}),
            ":2: column 'x' has nan: wanted a finite number within f32");
  EXPECT_EQ(message("x,y\n1,2\n3\n", {"x"}), ":3: 1 cells: wanted 2, as in the first line");
  EXPECT_EQ(message("x\n1\n\n2\n", {"x"}), ":3: an empty line: wanted numbers");
  EXPECT_EQ(message("price,cost\n1,2\n", {"prise"}),
            ": there is no column 'prise'; did you mean 'price'?");
  EXPECT_EQ(message("price,cost\n1,2\n", {"3"}), ": there is no column '3': it has price, cost");
  EXPECT_EQ(message("x,x\n1,2\n", {"x"}),
            ": two columns are called 'x': wanted one by its number, from 1");
  EXPECT_EQ(message("", {"x"}), ": it is empty: wanted a table of numbers");
  EXPECT_EQ(message("\n\n", {"x"}), ": it is empty: wanted a table of numbers");
  EXPECT_EQ(message("x\n", {"x"}), ": a line of names and no row");
  for (const char* path : {"missing.csv", "."}) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(folder_.path() / path, {"1"}); }),
                HasSubstr("cannot read"))
        << path;
  }
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table("/dev/zero", {"1"}); }),
              HasSubstr("/dev/zero:1: a byte 0"));
}

TEST_F(Tables, AreReadFromArraysToo) {
  const std::filesystem::path path = folder_.path() / "t.npy";
  write_npy(path, doubles({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_THAT(read_table(path, {"2", "1"}).columns,
              ElementsAre(ElementsAre(2, 4, 6), ElementsAre(1, 3, 5)));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path, {"price"}); }),
              HasSubstr("there is no column 'price': it has 1, 2"));
  write_npy(path, doubles({1, 1e300}, {2}));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path, {"1"}); }),
              HasSubstr("row 2 of column 1 is 1e+300: wanted a finite number within f32"));
  write_npy(path, Literal::of(3.0f));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path, {"1"}); }),
              HasSubstr("an array f32[]: wanted numbers [rows] or [rows, columns]"));
}

/// Row r has r and 100 - r; the target is the square of r.
TableWindows windows_of(int64_t rows, int64_t steps, int64_t horizon) {
  Table table{.names = {"a", "b", "y"}, .columns = {{}, {}, {}}};
  for (int64_t row = 0; row < rows; ++row) {
    table.columns[0].push_back(float(row));
    table.columns[1].push_back(float(100 - row));
    table.columns[2].push_back(float(row * row));
  }
  return TableWindows(std::move(table), steps, horizon);
}

TEST(TableWindowsTest, HaveTheirRowsAndTheTargetAhead) {
  const TableWindows windows = windows_of(20, 3, 2);
  const std::vector<Tensor> batch = windows.batch(std::vector<int64_t>{5, 0});
  EXPECT_EQ(batch[0].shape(), (Shape{3, 2, 2}));
  EXPECT_THAT(batch[0].to_vector(), ElementsAre(5, 95, 0, 100, 6, 94, 1, 99, 7, 93, 2, 98));
  EXPECT_EQ(batch[1].shape(), (Shape{2, 1}));
  EXPECT_THAT(batch[1].to_vector(), ElementsAre(81, 16));
}

TEST(TableWindowsTest, ArePartsByTheirTargets) {
  // Targets are rows 4 to 15, 16 and 17, 18 and 19.
  const TableWindows windows = windows_of(20, 3, 2);
  EXPECT_EQ(windows.part("train"), (std::pair<int64_t, int64_t>{0, 12}));
  EXPECT_EQ(windows.part("valid"), (std::pair<int64_t, int64_t>{12, 14}));
  EXPECT_EQ(windows.part("test"), (std::pair<int64_t, int64_t>{14, 16}));
  EXPECT_EQ(error_of(ErrorKind::usage, [&] { windows.part("tests"); }),
            "there is no split 'tests': wanted train, valid or test");
  EXPECT_EQ(error_of(ErrorKind::input, [] { windows_of(20, 16, 1); }),
            "a table of 20 rows has no window of 16 rows with a target 1 ahead for split 'train': "
            "wanted more rows, or less of steps or horizon");
  EXPECT_THAT(error_of(ErrorKind::input, [] { windows_of(4, 1, 1); }), HasSubstr("split 'valid'"));
}

TEST(TableWindowsTest, SpreadIsOfTheRowsOfTrainAlone) {
  Table table{.names = {"x", "c", "y"}, .columns = {{}, {}, {}}};
  for (int64_t row = 0; row < 10; ++row) {
    // 2 and 6 in turn, and what must not count behind them.
    table.columns[0].push_back(row < 8 ? float(row % 2 == 0 ? 2 : 6) : 1e6f);
    table.columns[1].push_back(3);
    table.columns[2].push_back(float(row));
  }
  const auto [mean, deviation] = TableWindows(table, 1, 1).spread();
  EXPECT_THAT(mean, ElementsAre(4, 3, 3.5f));
  EXPECT_THAT(deviation, ElementsAre(2, 1, std::sqrt(5.25f)));
}

TEST(TableWindowsTest, TheNaiveForecastIsTheWindowsLastRow) {
  // Test targets are 18² and 19², two rows ahead of 16² and 17².
  EXPECT_DOUBLE_EQ(windows_of(20, 3, 2).naive_rmse("test"), std::sqrt((68.0 * 68 + 72.0 * 72) / 2));
}

}  // namespace
}  // namespace graphc::core

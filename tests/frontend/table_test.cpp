// SPDX-License-Identifier: Apache-2.0
// Tables of delimited text and arrays, and what is wrong with a file said with its line.
#include "frontend/table.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "frontend/graphc.h"
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
using ::testing::IsEmpty;

Literal doubles(const std::vector<double>& values, const Shape& shape) {
  return Literal(std::span<const double>(values), shape);
}

using Columns = std::vector<std::vector<double>>;

/// The file's path is `t.csv` in messages.
class Tables : public ::testing::Test {
 protected:
  Table read(const std::string& text, const std::vector<std::string>& wanted,
             TableOptions options = {}) {
    write_file_atomically(folder_.path() / "t.csv", text);
    options.piece = 5;
    return read_table(folder_.path() / "t.csv", wanted, options);
  }
  Columns values(const std::string& text, const std::vector<std::string>& wanted,
                 const TableOptions& options = {}) {
    Columns columns;
    for (const TableColumn& column : read(text, wanted, options).columns)
      columns.push_back(column.values);
    return columns;
  }
  std::string message(const std::string& text, const std::vector<std::string>& wanted,
                      const TableOptions& options = {}) {
    const std::string found = error_of(ErrorKind::input, [&] { read(text, wanted, options); });
    const std::string path = (folder_.path() / "t.csv").string();
    EXPECT_THAT(found, ::testing::StartsWith(path));
    return found.substr(std::min(path.size(), found.size()));
  }

  TemporaryFolder folder_;
};

TEST_F(Tables, HaveTheColumnsThatAreWantedByNameOrNumber) {
  const std::string text = "day,cold,warm\n2020-01-01,-1.5,2e3\n2020-01-02,+7,.25\n";
  const Table table = read(text, {"warm", "2"});
  EXPECT_EQ(table.columns[1].name, "2");
  EXPECT_THAT(table["warm"].values, ElementsAre(2000, 0.25));
  EXPECT_THAT(table["2"].values, ElementsAre(-1.5, 7));
  EXPECT_THAT(table.f32({"2", "warm"}).to_vector(), ElementsAre(-1.5, 2000, 7, 0.25));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { table["worm"]; }),
              HasSubstr("no column 'worm' was read; did you mean 'warm'?"));
  EXPECT_EQ(values("1;2\n3;4\n\n\n", {"2"}), (Columns{{2, 4}}));
}

TEST_F(Tables, AFirstLineIsOfNamesIfItIsAnotherKindThanWhatIsBelow) {
  // A pandas index, years, an hour, an infinity, dates as names.
  EXPECT_EQ(values(",load,2024\n0,1,2\n1,3,4\n", {"2024"}), (Columns{{2, 4}}));
  EXPECT_EQ(values(",0,1\n0,5.5,6\n1,7.5,8\n", {"0"}), (Columns{{5.5, 7.5}}));
  EXPECT_EQ(values("hour,INF\n0,3\n", {"INF"}), (Columns{{3}}));
  EXPECT_EQ(values("INF\n3\n", {"INF"}), (Columns{{3}}));
  EXPECT_EQ(values("load,2024-01-01\n1,2\n", {"2024-01-01"}), (Columns{{2}}));
  EXPECT_THAT(read(",load,2024\n0,1,2\n", {"load"}).remarks,
              ElementsAre(HasSubstr("the first line is read as names, '2024' too")));
  // A row, as all below are.
  EXPECT_EQ(values("2024-01-01,1\n2024-01-02,3\n", {"2"}), (Columns{{1, 3}}));
  // Nobody can tell.
  for (const char* text : {"north,1\nsouth,2\n", "NA\n1\n"}) {
    EXPECT_THAT(message(text, {"1"}), HasSubstr(":1: the first line may be names or a row: "))
        << text;
  }
  EXPECT_EQ(values("north,1\nsouth,2\n", {"2"}, {.names = false}), (Columns{{1, 2}}));
  EXPECT_EQ(values("north,1\nsouth,2\n", {"1"}, {.names = true}), (Columns{{2}}));
  EXPECT_EQ(values("2023,2024\n1,2\n", {"2024"}, {.names = true}), (Columns{{2}}));
}

TEST_F(Tables, HaveDecimalCommasAndThousandsOrAskForThem) {
  EXPECT_EQ(values("a;b\n1,5;1.234,25\n-2,5;7\n", {"a", "b"}),
            (Columns{{1.5, -2.5}, {1234.25, 7}}));
  EXPECT_THAT(read("a;b\n1,5;2\n", {"a"}).remarks,
              ElementsAre(HasSubstr("numbers have decimal commas, as '1,5' in line 2 shows")));
  EXPECT_EQ(values("a,b\n\"1,234.5\",1 000\n\"2,000,000\",1'234\n", {"a", "b"}),
            (Columns{{1234.5, 2e6}, {1000, 1234}}));
  EXPECT_EQ(values("a;b\n1.234.567;1\n", {"a"}), (Columns{{1234567}}));
  EXPECT_THAT(message("a;b\n1,234;2\n", {"a"}),
              HasSubstr("'1,234' in line 2 may have a decimal comma or thousands apart"));
  EXPECT_EQ(values("a;b\n1,234;2\n", {"a"}, {.decimal = ','}), (Columns{{1.234}}));
  EXPECT_EQ(values("a;b\n1,234;2\n", {"a"}, {.decimal = '.'}), (Columns{{1234}}));
  EXPECT_THAT(message("a;b\n1,5;2.5\n", {"a"}),
              HasSubstr("'2.5' in line 2 and '1,5' in line 2: wanted one of them"));
  // Between commas they are two cells: said with a name, and without one.
  EXPECT_EQ(message("load\n1,5\n1,7\n", {"load"}),
            ":2: 2 cells: wanted 1, as in the first line; if '1,5' is a number with a decimal "
            "comma, say .decimal = ','");
  EXPECT_EQ(values("load\n1,5\n1,75\n", {"load"}, {.decimal = ','}), (Columns{{1.5, 1.75}}));
  EXPECT_THAT(read("1,5\n1,7\n", {"1"}).remarks,
              ElementsAre(HasSubstr("if they are one of decimal commas")));
  EXPECT_THAT(message("1,05\n1,7\n", {"1"}), HasSubstr(":1: '1,05' looks like a number with a "));
  std::string split;
  for (int row = 0; row < 1200; ++row) split += "1,5,2,7\n";
  EXPECT_THAT(message(split + "1,05,2,7\n", {"1"}), HasSubstr(":1201: '1,05' looks like a number"));
  // A point that may part thousands is said, wherever it stands.
  const auto thousands = HasSubstr("is read as a decimal point; if it parts thousands, say .deci");
  EXPECT_THAT(read("a;b\n1.234;2\n", {"a"}).remarks, ElementsAre(thousands));
  EXPECT_THAT(read("a\n7\n1.234\n", {"a"}).remarks, ElementsAre(thousands));
  EXPECT_THAT(read("a\n7\n1.234\n1.5\n", {"a"}).remarks, IsEmpty());
  EXPECT_THAT(read("a,b\n7,1.234\n8,2.345\n", {"a", "b"}).remarks, IsEmpty());
  // After the rows that decide.
  std::string late = "a;b\n";
  for (int row = 0; row < 1200; ++row) late += "1;2\n";
  EXPECT_THAT(read(late + "1.234;2\n", {"a"}).remarks, ElementsAre(thousands));
  EXPECT_THAT(message(late + "1,234;2\n", {"a"}),
              HasSubstr(":1202: column 'a' has '1,234', which"));
  EXPECT_THAT(message(late + "1,5;2\n", {"a"}),
              HasSubstr("has '1,5': wanted a number with a decimal point, or .decimal = ','"));
}

TEST_F(Tables, HaveDatesAndCategories) {
  const std::string text =
      "time;site\n2024-01-31 13:30;north\n2024-02-01T00:00:01.5+01:00;south\n1969-12-31;north\n";
  const Table table = read(text, {"time:date", "site:category"});
  EXPECT_THAT(table["time"].values, ElementsAre(1706707800, 1706745601.5, -86400));
  EXPECT_THAT(table["site"].values, ElementsAre(0, 1, 0));
  EXPECT_THAT(table["site"].categories, ElementsAre("north", "south"));
  EXPECT_EQ(read(text, {}).columns[0].kind, ColumnKind::date);
  EXPECT_EQ(read(text, {}).columns[1].kind, ColumnKind::category);
  EXPECT_EQ(values("d\n31.01.2024\n01.02.2024\n", {"d:date"}), (Columns{{1706659200, 1706745600}}));
  EXPECT_EQ(values("d\n31/01/2024\n01/02/2024\n", {"d:date"}), (Columns{{1706659200, 1706745600}}));
  EXPECT_EQ(values("d\n01/31/2024\n02/01/2024\n", {"d:date"}), (Columns{{1706659200, 1706745600}}));
  EXPECT_THAT(
      message("d\n01/02/2024\n", {"d:date"}),
      HasSubstr("may have the day first or the month: wanted 'd:date-dmy' or 'd:date-mdy'"));
  EXPECT_EQ(values("d\n01/02/2024\n", {"d:date-mdy"}), (Columns{{1704153600}}));
  for (const char between : {'.', '-', '/'}) {
    // 2 January and 1 February.
    const std::string open = fmt::format("d\n01{0}02{0}2024\n", between);
    EXPECT_EQ(values(open, {"d:date-mdy"}), (Columns{{1704153600}})) << between;
    EXPECT_EQ(values(open, {"d:date-dmy"}), (Columns{{1706745600}})) << between;
    // A year in front leaves nothing open.
    if (between == '.') continue;
    EXPECT_EQ(values(fmt::format("d\n2024{0}02{0}01\n", between), {"d:date-mdy"}),
              (Columns{{1706745600}}));
  }
  EXPECT_EQ(values("d\n31-01-2024\n01-02-2024\n", {"d:date"}), (Columns{{1706659200, 1706745600}}));
  EXPECT_THAT(message("d\n01-02-2024\n", {"d:date"}), HasSubstr("'d:date-dmy' or 'd:date-mdy'"));
  EXPECT_THAT(message("d\n01.31.2024\n", {"d:date"}), HasSubstr("the month first is 'd:date-mdy'"));
  EXPECT_THAT(message("d\n01.31.2024\n", {"d:date-dmy"}), HasSubstr("wanted a date such as"));
  EXPECT_EQ(
      message("d\n2024-02-30\n", {"d:date"}),
      ":2: column 'd' has '2024-02-30': wanted a date such as 2024-01-31 13:00 or 31.01.2024");
  EXPECT_THAT(message(text, {"time"}), HasSubstr("; a date is asked for by 'time:date'"));
  EXPECT_THAT(message(text, {"site"}), HasSubstr("; a category is asked for by 'site:category'"));
}

TEST_F(Tables, MissingCellsAreRefusedOrBecomeWhatIsAskedFor) {
  const std::string text = "x,s\n1,a\nNA,b\n,\nn/a,a\n5,?\n";
  EXPECT_EQ(message(text, {"x"}),
            ":3: column 'x' has NA: wanted a number, or .missing = Missing::mean, previous, drop "
            "or mask");
  EXPECT_EQ(message("x,y\n1,2\n,3\n", {"x"}),
            ":3: column 'x' is empty: wanted a number, or .missing = Missing::mean, previous, drop "
            "or mask");
  EXPECT_EQ(values(text, {"x"}, {.missing = Missing::mean}), (Columns{{1, 3, 3, 3, 5}}));
  EXPECT_EQ(values(text, {"x"}, {.missing = Missing::previous}), (Columns{{1, 1, 1, 1, 5}}));
  EXPECT_EQ(values("x\nnull\n2\n", {"x"}, {.names = true, .missing = Missing::previous}),
            (Columns{{2, 2}}));
  EXPECT_EQ(values(text, {"x"}, {.missing = Missing::drop}), (Columns{{1, 5}}));
  const Table masked = read(text, {"x", "s:category"}, {.missing = Missing::mask});
  EXPECT_THAT(masked.known().to_vector(), ElementsAre(1, 1, 0, 1, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(masked.remarks, ElementsAre(HasSubstr("column 'x': 3 of 5 cells are missing"),
                                          HasSubstr("column 's': 1 of 5 cells")));
  // A line of a table of one column.
  EXPECT_EQ(values("x\n1\n\n3\n\n", {"x"}, {.missing = Missing::drop}), (Columns{{1, 3}}));
  EXPECT_THAT(message("x\nNA\nNA\n", {"x"}, {.missing = Missing::mean}),
              HasSubstr("no value to fill it with"));
  EXPECT_THAT(message("x\nNA\nNA\n", {"x"}, {.missing = Missing::drop}),
              HasSubstr("it has no row without a missing cell"));
  EXPECT_THAT(error_of(ErrorKind::usage, [] { missing_of("zero"); }),
              HasSubstr("missing is one of refuse, mean, previous, drop, mask: found 'zero'"));
}

TEST_F(Tables, WithoutColumnsAllCellsOfOneAreOfOneKind) {
  // A wrong cell among numbers, units, a number among texts: none makes a category, or codes.
  EXPECT_EQ(message("v,w\n1,2\n3,1.O\n5,6\n", {}),
            ":3: column 'w' has '1.O': wanted a number, or the columns by name, 'w:category' among "
            "them");
  EXPECT_THAT(message("x,y\nkW,m\n1,2\n", {}),
              HasSubstr(":2: column 'x' has 'kW': wanted a number"));
  EXPECT_THAT(message("s\na\nb\n7\n", {}),
              HasSubstr(":4: column 's' has '7', a number among texts: wanted one kind, or"));
  EXPECT_THAT(message("s\na\nb\n2024-01-01\n", {}), HasSubstr("has '2024-01-01', a date among"));
  EXPECT_THAT(message("d\n2024-01-01\n2024-01-02\nsoon\n", {}),
              HasSubstr(":4: column 'd' has 'soon': wanted a date"));
  EXPECT_EQ(values("s\na\nb\n7\n", {"s:category"}), (Columns{{0, 1, 2}}));
  // Codes are given to who names the column.
  const Table table = read("v,s\n1,a\n3,b\n", {});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)table.f32(); }),
              HasSubstr("column 's' is one of categories: wanted numbers alone, or the names of "
                        "the columns, f32({\"s\"})"));
  EXPECT_THAT(table.f32({"v", "s"}).to_vector(), ElementsAre(1, 0, 3, 1));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)read("d\n2024-01-01\n", {}).f32(); }),
              HasSubstr("column 'd' is one of dates"));
}

TEST_F(Tables, WithTwoColumnsOfOneNameAreAmbiguous) {
  const Table table = read("a,a\n1,2\n3,4\n", {});
  for (const auto& use : {std::function<void()>([&] { (void)table["a"]; }),
                          std::function<void()>([&] { (void)table.f32({"a"}); })}) {
    EXPECT_THAT(error_of(ErrorKind::input, use), HasSubstr("two columns are called 'a'"));
  }
  EXPECT_THAT(table.f32().to_vector(), ElementsAre(1, 2, 3, 4));
}

TEST_F(Tables, TakeWhatExcelAndDosAdd) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string said = std::string("sep=;") + end;
    EXPECT_EQ(values(said + "a,b;c" + end + "1,5;2" + end, {"a,b"}), (Columns{{1.5}}));
    EXPECT_EQ(message(said + "a;b" + end + "1;x" + end, {"b"}),
              ":3: column 'b' has 'x': wanted a "
              "number; a category is asked for by 'b:category'");
    EXPECT_EQ(values("\"sep=|\"" + std::string(end) + "a|b" + end + "1|2" + end, {"b"}),
              (Columns{{2}}));
  }
  EXPECT_EQ(values("a,b\n1,2\n3,4\n\x1a", {}), (Columns{{1, 3}, {2, 4}}));
  EXPECT_EQ(values("a,b\n1,2\n3,4\x1a\x1a\x1a", {}), (Columns{{1, 3}, {2, 4}}));
  EXPECT_THAT(message("a,b\n1,2\x1a\n3,4\n", {}), HasSubstr(":2: column 'b' has '2\\"));
}

TEST_F(Tables, MessagesNameTheOptionsInTheWordsOfWhoAsks) {
  const std::pair<OptionWords, const char*> words[] = {
      {OptionWords::program, ", or .missing = Missing::"},
      {OptionWords::command_line, ", or --missing="},
      {OptionWords::trained_command, ""}};
  for (const auto& [each, option] : words) {
    const TableOptions options{.words = each};
    const std::string others = *option == 0 ? "" : std::string(option) + "previous, drop or mask";
    EXPECT_EQ(message("d,s\n,\n2024-01-01,b\n", {"d:date"}, options),
              ":2: column 'd' is empty: wanted a date" + others);
    EXPECT_EQ(message("d,s\n2024-01-01,\n", {"s:category"}, options),
              ":2: column 's' is empty: wanted a category" + others);
    const std::string mean =
        *option == 0 ? "" : std::string(option) + "mean, previous, drop or mask";
    EXPECT_EQ(message("d,s\n,1\n3,4\n", {"d"}, options),
              ":2: column 'd' is empty: wanted a number" + mean);
    for (const char* text : {"a;b\n1,234;2\n", "north,1\nsouth,2\n", "1,05\n1,7\n", "caf\xe9\n1\n",
                             "a\n1,5\n", "a;b\n1,5;2.5\n",
                             "\xff\xfe"
                             "a"}) {
      const std::string found = error_of(ErrorKind::input, [&] { read(text, {"1"}, options); });
      EXPECT_EQ(found.find("--") == found.npos, each == OptionWords::program) << found;
    }
  }
  EXPECT_THAT(error_of(ErrorKind::usage,
                       [&] { read_table(folder_.add("t.csv", "1\n"), {}, {.piece = 0}); }),
              HasSubstr("pieces of at least 1 byte: found 0"));
}

TEST_F(Tables, TinyNumbersAreZeroAndHugeOnesAreRefused) {
  EXPECT_EQ(values("x\n1e-400\n3.4e38\n", {"x"}), (Columns{{0, 3.4e38}}));
  EXPECT_EQ(message("x\n1\n-1e39\n", {"x"}),
            ":3: column 'x' has -1e39: wanted a finite number within f32");
  EXPECT_EQ(message("x\n1\n1e400\n", {"x"}),
            ":3: column 'x' has 1e400: wanted a finite number within f32");
  EXPECT_EQ(message("x\n1\ninf\n", {"x"}),
            ":3: column 'x' has inf: wanted a finite number within f32");
}

TEST_F(Tables, ColumnsThatF32DoesNotTellApartAreRefused) {
  const auto refused = [&](const std::string& text) {
    return error_of(ErrorKind::input, [&] { read(text, {"t"}).f32(); });
  };
  EXPECT_THAT(refused("t\n16777216000\n16777216001\n16777216002\n"),
              HasSubstr(": column 't': f32 rounds its numbers by up to 2, and their standard "
                        "deviation is 0.816: wanted them without an offset as large as 1.68e+10"));
  // Far from 0, and yet far apart; or all the same.
  EXPECT_EQ(read("t\n16777216001\n17777216001\n", {"t"}).f32().shape(), (Shape{2, 1}));
  EXPECT_EQ(read("t\n16777216001\n16777216001\n", {"t"}).f32().shape(), (Shape{2, 1}));
  EXPECT_EQ(read("t\n0.1\n0.2\n", {"t"}).f32().shape(), (Shape{2, 1}));
}

TEST_F(Tables, ErrorsHaveFileLineAndColumn) {
  EXPECT_EQ(message("x,y\n1,2\n3,4 C\n", {"2"}), ":3: column '2' has '4 C': wanted a number");
  EXPECT_EQ(message("x,y\n1,2\n3\n", {"x"}), ":3: 1 cells: wanted 2, as in the first line");
  EXPECT_EQ(message("x,y\n1,2\n\n2,3\n", {"x"}), ":3: an empty line: wanted numbers");
  EXPECT_EQ(message("price,cost\n1,2\n", {"prise"}),
            ": there is no column 'prise'; did you mean 'price'?");
  EXPECT_EQ(message("price,cost\n1,2\n", {"3"}), ": there is no column '3': it has price, cost");
  // Among names that are numbers none is a place.
  EXPECT_THAT(message(",0,1\n0,5.5,6\n1,7.5,8\n", {"2"}),
              HasSubstr("no column '2': it has , 0, 1; its names are numbers"));
  EXPECT_THAT(message("load,2024\n1.5,3\n", {"1"}), HasSubstr("there is no column '1'"));
  EXPECT_THAT(message("0,0\na,b\n1,2\n", {"0"}, {.names = true}), HasSubstr("names that differ"));
  EXPECT_EQ(message("price,cost\n1,2\n", {"price", "1"}),
            ": 'price' and '1' are the same column: wanted it once");
  EXPECT_EQ(message("price,cost\n1,2\n", {"cost", "cost:category"}),
            ": 'cost' and 'cost:category' are the same column: wanted it once");
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
              HasSubstr("'/dev/zero' is no text: byte 0 is 0"));
  const auto refused = [&](const std::string& text) {
    write_file_atomically(folder_.path() / "t.csv", text);
    return error_of(ErrorKind::input, [&] { read_table(folder_.path() / "t.csv", {"1"}); });
  };
  EXPECT_THAT(refused("\x1f\x8b\x08"),
              HasSubstr("is a gzip file: unpack it first (gunzip): wanted a table"));
  EXPECT_THAT(refused("PK\x03\x04 xl/workbook"), HasSubstr("is a spreadsheet"));
  EXPECT_THAT(refused("s,x\ncaf\xe9,1\n"), HasSubstr("is text in Latin-1"));
}

TEST_F(Tables, AreReadFromArraysToo) {
  const std::filesystem::path path = folder_.path() / "t.npy";
  write_npy(path, doubles({1, 2, 3, 4, 5, 6}, {3, 2}));
  const Table table = read_table(path, {"2", "1"});
  EXPECT_THAT(table["2"].values, ElementsAre(2, 4, 6));
  EXPECT_THAT(table["1"].values, ElementsAre(1, 3, 5));
  EXPECT_EQ(read_table(path).columns.size(), 2u);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path, {"price"}); }),
              HasSubstr("there is no column 'price': it has 1, 2"));
  write_npy(path, doubles({1, std::nan(""), 3}, {3}));
  EXPECT_THAT(
      error_of(ErrorKind::input, [&] { read_table(path, {"1"}); }),
      HasSubstr("row 2 of column 1 is nan: wanted a finite number within f32, or .missing = "
                "Missing::mean, previous, drop or mask"));
  EXPECT_THAT(read_table(path, {"1"}, {.missing = Missing::mean})["1"].values,
              ElementsAre(1, 2, 3));
  write_npy(path, doubles({1, 1e300}, {2}));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path, {"1"}); }),
              HasSubstr("row 2 of column 1 is 1e+300: wanted a finite number within f32"));
  write_npy(path, Literal::of(3.0f));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path, {"1"}); }),
              HasSubstr("an array f32[]: wanted numbers [rows] or [rows, columns]"));
  write_npy(path, doubles({}, {0, 2}));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { read_table(path); }),
              HasSubstr("an array f64[0,2], which is empty: wanted numbers"));
}

}  // namespace
}  // namespace graphc::core

// What a user's program says, with one header and one namespace.
namespace user {
namespace {

using namespace graphc;

TEST(TablesOfUsers, AreReadAndDrawnByPublicNames) {
  const graphc::core::testing::TemporaryFolder folder;
  const auto file = folder.add("t.csv", "time;site;load\n2024-01-01;a;1,5\n2024-01-02;b;\n");
  const Table table = read_table(file, {"load", "time:date", "site:category"},
                                 TableOptions{.missing = Missing::previous});
  const Tensor load = table.f32({"load"});
  EXPECT_EQ(load.to_vector(), (std::vector<float>{1.5, 1.5}));
  EXPECT_EQ(table["site"].kind, ColumnKind::category);
  const TableColumn& time = table["time"];
  EXPECT_EQ(time.values[1] - time.values[0], 86400);
  plot(folder.path() / "t.svg", {PlotPanel{"t", "row", {PlotLine{"load", table["load"].values}}}});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "t.svg"));
  // As docs/tables.md has it: floats of a tensor, and spans.
  const auto truth = load.to_vector(), forecast = truth;
  plot(folder.path() / "f.svg", {{"test", "hour", {{"load", truth}, {"forecast", forecast}}}});
  plot(folder.path() / "s.svg", {{"test", "hour", {{"load", std::span<const float>(truth)}}}});
  plot(folder.path() / "i.svg", {{"test", "hour", {{"load", {1, 2, 4}}}}});
  EXPECT_EQ((PlotLine{"load", truth}.y), (std::vector<double>{1.5, 1.5}));
}

}  // namespace
}  // namespace user

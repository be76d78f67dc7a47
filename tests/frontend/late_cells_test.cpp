// SPDX-License-Identifier: Apache-2.0
// What a cell of a table gives (a number, a remark, an error) does not depend on how far down it
// stands: nothing that the first rows would say is silent behind those that decide the layout.
#include <gmock/gmock.h>

#include <cmath>

#include "frontend/table.h"
#include "ir/error.h"
#include "tests/testing/samples.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::is_sampled;
using graphc::core::testing::TemporaryFolder;

/// A table of equal rows, and the columns that are read of it.
struct Base {
  std::string names, row;
  std::vector<std::string> wanted;
};

struct Outcome {
  bool is_silent = false;
  double value = 0;  ///< of the cell
  std::string says;
};

class LateCells : public ::testing::Test {
 protected:
  /// Of a cell in place of the first one of row `at`, which more rows follow.
  Outcome outcome(const Base& base, const std::string& cell, size_t at, bool cut) {
    std::string text = base.names;
    for (size_t row = 0; row < at; ++row) text += base.row;
    const size_t begin = text.size();
    text += cell + base.row.substr(base.row.find_first_of(";,\t\n"));
    const size_t border = cut ? begin + cell.size() / 2 + 1 : text.size() + 100;
    for (size_t row = 0; row < 3; ++row) text += base.row;
    const auto path = folder_.add("t.csv", text);
    try {
      const Table table = read_table(path, base.wanted, {.piece = border});
      Outcome result{.is_silent = table.remarks.empty(), .value = table.columns[0].values[at]};
      if (!table.remarks.empty()) result.says = table.remarks[0];
      if (table.columns[0].kind == ColumnKind::category) result.value = 0;
      return result;
    } catch (const Error& error) {
      return {.says = error.message()};
    }
  }

  TemporaryFolder folder_;
};

TEST_F(LateCells, SayWhatTheySayInTheFirstRows) {
  const Base bases[] = {{"v;w\n", "7;2\n", {}},
                        {"v;w\n", "7;2\n", {"v"}},
                        {"v,w\n", "7,2\n", {}},
                        {"v\tw\n", "7\t2\n", {}},
                        {"v\n", "7\n", {}},
                        {"", "7;2\n", {}},
                        {"", "7,2,3,4\n", {}},
                        {"v;w\n", "1.5;2\n", {}},
                        {"v;w\n", "1,5;2\n", {}},
                        {"v;w\n", "-2000;2\n", {}},
                        {"t;w\n", "2024-01-31;2\n", {}},
                        {"t;w\n", "2024-01-31;2\n", {"t:date"}},
                        {"t;w\n", "31/01/2024;2\n", {}},
                        {"t;w\n", "01.02.2024;2\n", {"t:date-mdy"}},
                        {"s;w\n", "north;2\n", {}},
                        {"s;w\n", "north;2\n", {"s:category"}}};
  const std::string cells[] = {"5",          "05",         "1,5",        "1,05",       "1.5",
                               "1,234",      "1.234",      "1,234.5",    "1.234,5",    "1.234.567",
                               "1 234",      "1'234",      "0.123",      "oops",       "1.O",
                               "",           "NA",         "nan",        "#N/A",       "inf",
                               "1e39",       "-1e400",     "01/02/2024", "31/01/2024", "01/31/2024",
                               "2024-01-31", "31-01-2024", "01.31.2024", "31.01.2024", "\x1a",
                               "5 6",        "\"5\"",      "\"5",        "5;6",        "5,6"};
  int silent = 0, said = 0;
  size_t turn = 0;
  for (const Base& base : bases) {
    for (const std::string& cell : cells) {
      const Outcome early = outcome(base, cell, 3, false);
      // Cells that are declared to be texts show the first rows' decimal sign all the same.
      if (base.wanted == std::vector<std::string>{"s:category"} &&
          early.says.find("decimal") != early.says.npos)
        continue;
      (early.is_silent ? silent : said) += 1;
      ++turn;
      for (const size_t row : {1000, 1003}) {
        if (!is_sampled(turn + row, 3)) continue;
        SCOPED_TRACE(base.names + base.row + "row " + std::to_string(row) + ": " + cell);
        const Outcome late = outcome(base, cell, row, row % 2 == 1);
        if (!early.is_silent) {
          EXPECT_FALSE(late.is_silent) << "early: " << early.says;
        } else if (late.is_silent) {
          EXPECT_TRUE(late.value == early.value ||
                      (std::isnan(late.value) && std::isnan(early.value)))
              << late.value << " for " << early.value;
        }
      }
    }
  }
  // Both are there to compare.
  EXPECT_GT(silent, 50);
  EXPECT_GT(said, 200);
}

// What the delimiter is shown by ends much earlier than the file.
TEST_F(LateCells, SayItInALargeFileToo) {
  const Base base{"v;w\n", "7;2\n", {}};
  for (const char* cell : {"1.234", "1,234", "1,5", "oops", "2024-01-01", "", "5;6"})
    EXPECT_FALSE(outcome(base, cell, 20000, true).is_silent) << cell;
  EXPECT_TRUE(outcome(base, "1.5", 20000, true).is_silent);
}

}  // namespace
}  // namespace graphc::core

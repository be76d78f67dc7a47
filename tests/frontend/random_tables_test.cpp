// SPDX-License-Identifier: Apache-2.0
// Random tables whose meaning is known from how they were written: each is read as what it means,
// or refused with a reason; nothing else.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "frontend/table.h"
#include "ir/error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::TemporaryFolder;

enum class Header { none, names, index, with_a_number };

struct Style {
  char delimiter, decimal;
  std::string thousands, missing, line_end;
  Header header;
  int quotes;  ///< 0: where they must be; 1: everywhere; 2: nowhere
  bool mark, ends_line;
};

struct Written {
  Style style;
  std::vector<std::vector<double>> rows;
  std::vector<std::string> names;  ///< of the columns as they are asked for
  std::string text;
  bool has_missing = false;
};

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  Written write() {
    Written table{.style = draw_style()};
    const Style& style = table.style;
    const size_t width = 1 + below(4), rows = 2 + below(30);
    for (size_t column = 0; column < width; ++column) digits_.push_back(below(4));
    std::vector<std::string> first;
    if (style.header == Header::index) first.push_back("");
    for (size_t column = 0; column < width; ++column) {
      std::string name = fmt::format("{}{}", "load" + std::string(below(3), 'x'), column);
      if (style.header == Header::with_a_number && column + 1 == width && width > 1) name = "2024";
      if (style.header == Header::none) name = std::to_string(column + 1);
      table.names.push_back(name);
      first.push_back(name);
    }
    table.text = style.mark ? "\xef\xbb\xbf" : "";
    if (style.header != Header::none) add_line(table, first);
    for (size_t row = 0; row < rows; ++row) add_row(table, width, row);
    if (!style.ends_line) table.text.resize(table.text.size() - style.line_end.size());
    return table;
  }

 private:
  uint32_t below(uint32_t limit) { return uint32_t(random_() % limit); }
  template <typename T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + below(uint32_t(all.size())));
  }

  Style draw_style() {
    Style style{};
    style.delimiter = one_of({',', ',', ';', '\t', '|', ' '});
    style.decimal = one_of({'.', ','});
    style.thousands =
        one_of<std::string>({"", "", style.decimal == '.' ? "," : ".", "'", "\u00a0", " "});
    style.missing = one_of<std::string>({"", "NA", "NaN", "null", "?", "#N/A"});
    style.line_end = one_of<std::string>({"\n", "\r\n", "\r"});
    style.header = one_of({Header::none, Header::names, Header::index, Header::with_a_number});
    style.quotes = int(below(3));
    style.mark = below(3) == 0;
    style.ends_line = below(4) != 0;
    return style;
  }

  void add_row(Written& table, size_t width, size_t row) {
    std::vector<std::string> cells;
    if (table.style.header == Header::index) cells.push_back(std::to_string(row));
    std::vector<double>& values = table.rows.emplace_back();
    for (size_t column = 0; column < width; ++column) {
      if (below(12) == 0 && width > 1 &&
          !(table.style.delimiter == ' ' && table.style.missing.empty())) {
        table.has_missing = true;
        values.push_back(std::nan(""));
        cells.push_back(table.style.missing);
        continue;
      }
      // A whole number over a power of ten: both forms are exact in what they mean.
      const int64_t whole = int64_t(below(below(2) == 0 ? 1000 : 3'000'000));
      const int64_t power = int64_t(std::pow(10, digits_[column]));
      const int64_t fraction = int64_t(below(uint32_t(power)));
      const bool negative = below(4) == 0;
      std::string cell = grouped(whole, table.style.thousands);
      if (digits_[column] > 0)
        cell += fmt::format("{}{:0{}}", table.style.decimal, fraction, digits_[column]);
      values.push_back(std::stod(fmt::format("{}{}.{:0{}}", negative ? "-" : "", whole, fraction,
                                             std::max(digits_[column], 1u))));
      cells.push_back((negative ? "-" : "") + cell);
    }
    add_line(table, cells);
  }

  static std::string grouped(int64_t whole, const std::string& between) {
    std::string digits = std::to_string(whole), text;
    for (size_t i = 0; i < digits.size(); ++i) {
      if (i > 0 && (digits.size() - i) % 3 == 0) text += between;
      text += digits[i];
    }
    return text;
  }

  static void add_line(Written& table, const std::vector<std::string>& cells) {
    const Style& style = table.style;
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool must = cells[i].find(style.delimiter) != std::string::npos ||
                        (style.delimiter == ' ' && cells[i].empty());
      const bool quoted = style.quotes == 1 || (style.quotes == 0 && must);
      table.text += i > 0 ? std::string(1, style.delimiter) : "";
      table.text += quoted ? '"' + cells[i] + '"' : cells[i];
    }
    table.text += style.line_end;
  }

  std::mt19937 random_;
  std::vector<uint32_t> digits_;  ///< of each column's fractions
};

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

/// What nobody can know: cells that were cut at their own commas and still make whole rows of
/// numbers without names, where the table is of more columns than the user thinks.
bool is_beyond_knowledge(const Written& table) {
  return table.style.quotes == 2 && table.style.header == Header::none &&
         table.style.delimiter == ',' &&
         (table.style.decimal == ',' || table.style.thousands == ",");
}

TEST(RandomTables, AreReadAsWhatTheyMeanOrRefusedWithAReason) {
  const TemporaryFolder folder;
  std::map<std::string, int> refusals;
  int read = 0, tables = 0, remarked = 0;
  for (unsigned seed = 0; seed < 2500; ++seed) {
    const Written table = Writer(seed).write();
    if (is_beyond_knowledge(table)) continue;
    ++tables;
    const auto path = folder.add("t.csv", table.text);
    SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, table.text.substr(0, 400)));
    try {
      const Table found =
          read_table(path, table.names, {.missing = Missing::mask, .piece = 1 + seed % 700});
      ASSERT_EQ(found.rows(), int64_t(table.rows.size()));
      bool right = true;
      for (size_t row = 0; row < table.rows.size(); ++row) {
        for (size_t column = 0; column < table.names.size(); ++column)
          right &= same(found.columns[column].values[row], table.rows[row][column]);
      }
      // A point with three digits behind it is a point, unless a remark says that it may be none.
      if (!right && !found.remarks.empty()) {
        ++remarked;
        continue;
      }
      ASSERT_TRUE(right);
      ++read;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::input);
      ASSERT_THAT(error.message(), ::testing::HasSubstr("t.csv"));
      std::string reason = "other: " + error.message();
      for (const char* each : {".decimal", "may be names or a row", "as in the first line",
                               "wanted a number", "there is no column", "after a closing quote"}) {
        if (error.message().find(each) != std::string::npos) reason = each;
      }
      ++refusals[reason];
    }
  }
  for (const auto& [reason, count] : refusals) {
    EXPECT_FALSE(reason.starts_with("other")) << reason;
    RecordProperty(reason, count);
  }
  RecordProperty("read", read);
  EXPECT_GT(read, tables * 2 / 3) << remarked << " with a remark";
  EXPECT_LT(remarked, tables / 50);
}

}  // namespace
}  // namespace graphc::core

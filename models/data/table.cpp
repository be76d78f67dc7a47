// SPDX-License-Identifier: Apache-2.0
#include "models/data/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "ir/error.h"
#include "ir/spelling.h"
#include "models/data/delimited.h"
#include "runtime/files/files.h"
#include "runtime/files/npy.h"

namespace graphc::core {
namespace {

using Cells = DelimitedText::Cells;

/// A decimal number, which may be beyond f32 or not finite.
std::optional<double> number_in(std::string_view cell) {
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  // Too large, or too small: from_chars does not say which.
  if (error == std::errc::result_out_of_range) number = std::strtod(std::string(cell).c_str(), {});
  return number;
}

/// The place of the column that is called so: by its name, else by its number.
size_t place_of(const std::string& wanted, const std::vector<std::string>& names,
                const std::string& file) {
  const auto found = std::ranges::find(names, wanted);
  if (found != names.end()) {
    if (std::find(found + 1, names.end(), wanted) == names.end())
      return size_t(found - names.begin());
    throw input_error({}, "{}: two columns are called '{}': wanted one by its number, from 1", file,
                      wanted);
  }
  size_t number = 0;
  const char* const end = wanted.data() + wanted.size();
  if (std::from_chars(wanted.data(), end, number).ptr == end && number >= 1 &&
      number <= names.size())
    return number - 1;
  const std::string near = did_you_mean(wanted, names);
  throw input_error({}, "{}: there is no column '{}'{}", file, wanted,
                    near.empty() ? fmt::format(": it has {}", fmt::join(names, ", ")) : near);
}

/// A column as it is read, and what f32 makes of it.
class Column {
 public:
  void add(double number) {
    values_.push_back(float(number));
    if (values_.size() == 1) first_ = number;
    const double difference = number - first_;
    sum_ += difference;
    squares_ += difference * difference;
    rounding_ = std::max(rounding_, std::abs(number - double(values_.back())));
  }
  /// Throws where numbers so far from 0 lose what tells them apart.
  std::vector<float> end(const std::string& file, const std::string& name) {
    const double count = double(values_.size()), mean = sum_ / count;
    const double deviation = std::sqrt(std::max(0.0, squares_ / count - mean * mean));
    if (rounding_ <= kMostRounding * deviation || deviation == 0) return std::move(values_);
    throw input_error({},
                      "{}: column '{}': f32 rounds its numbers by up to {:.3g}, and their standard "
                      "deviation is {:.3g}: wanted them without an offset as large as {:.3g}",
                      file, name, rounding_, deviation, first_);
  }

 private:
  static constexpr double kMostRounding = 1e-3;  ///< of the deviation

  std::vector<float> values_;
  double first_ = 0, sum_ = 0, squares_ = 0, rounding_ = 0;
};

/// Takes the numbers that are wanted out of records of cells.
class TableReader {
 public:
  TableReader(std::string file, const std::vector<std::string>& wanted)
      : file_(std::move(file)), wanted_(wanted), columns_(wanted.size()) {}

  void take(const Cells& cells, int64_t line) {
    if (cells.size() == 1 && cells[0].empty()) {
      // At the end of a file it is nothing.
      if (empty_ == 0) empty_ = line;
      return;
    }
    if (empty_ > 0) throw input_error({}, "{}:{}: an empty line: wanted numbers", file_, empty_);
    if (width_ == 0 && begin(cells)) return;
    if (cells.size() != width_) {
      throw input_error({}, "{}:{}: {} cells: wanted {}, as in the first line", file_, line,
                        cells.size(), width_);
    }
    for (size_t i = 0; i < places_.size(); ++i)
      columns_[i].add(value_of(cells[places_[i]], i, line));
    ++rows_;
  }

  Table end() {
    if (width_ == 0) throw input_error({}, "{}: it is empty: wanted a table of numbers", file_);
    if (rows_ == 0) throw input_error({}, "{}: a line of names and no row", file_);
    Table table{.names = wanted_, .columns = {}};
    for (size_t i = 0; i < columns_.size(); ++i)
      table.columns.push_back(columns_[i].end(file_, wanted_[i]));
    return table;
  }

 private:
  /// Takes in the first line; whether it has the names.
  bool begin(const Cells& cells) {
    width_ = cells.size();
    const bool names = std::ranges::none_of(
        cells, [](const std::string& cell) { return number_in(cell).has_value(); });
    Cells called = cells;
    for (size_t i = 0; i < called.size() && !names; ++i) called[i] = std::to_string(i + 1);
    for (const std::string& name : wanted_) places_.push_back(place_of(name, called, file_));
    return names;
  }

  double value_of(const std::string& cell, size_t column, int64_t line) const {
    const auto refuse = [&](const std::string& what) {
      return input_error({}, "{}:{}: column '{}' {}", file_, line, wanted_[column], what);
    };
    if (cell.empty()) throw refuse("is empty: wanted a number");
    const std::optional<double> number = number_in(cell);
    if (!number) throw refuse(fmt::format("has '{:.40}': wanted a number", cell));
    if (std::isfinite(float(*number))) return *number;
    throw refuse(fmt::format("has {:.40}: wanted a finite number within f32", cell));
  }

  std::string file_;
  std::vector<std::string> wanted_;
  std::vector<Column> columns_;
  int64_t rows_ = 0;
  std::vector<size_t> places_;  ///< of the wanted columns
  size_t width_ = 0;            ///< cells of a row; 0 before the first line
  int64_t empty_ = 0;           ///< the first line of those that are empty; 0: none
};

Table table_of(const Literal& array, const std::string& file,
               const std::vector<std::string>& wanted) {
  const Shape& shape = array.shape();
  if (shape.rank() < 1 || shape.rank() > 2 || shape.elements() == 0) {
    throw input_error({}, "{}: an array {}: wanted numbers [rows] or [rows, columns]", file,
                      to_string(array.type()));
  }
  const int64_t rows = shape[0], width = shape.rank() == 1 ? 1 : shape[1];
  std::vector<std::string> names;
  for (int64_t i = 1; i <= width; ++i) names.push_back(std::to_string(i));
  Table table{.names = wanted, .columns = {}};
  for (const std::string& name : wanted) {
    const auto place = int64_t(place_of(name, names, file));
    Column column;
    for (int64_t row = 0; row < rows; ++row) {
      const double number = array.element(row * width + place);
      if (!std::isfinite(float(number))) {
        throw input_error({}, "{}: row {} of column {} is {}: wanted a finite number within f32",
                          file, row + 1, place + 1, number);
      }
      column.add(number);
    }
    table.columns.push_back(column.end(file, name));
  }
  return table;
}

}  // namespace

Table read_table(const std::filesystem::path& path, const std::vector<std::string>& wanted,
                 size_t piece) {
  const std::string file = path.string();
  if (path.extension() == ".npy") return table_of(read_npy(path), file, wanted);
  TableReader reader(file, wanted);
  DelimitedText text(file, [&](const Cells& cells, int64_t line) { reader.take(cells, line); });
  read_pieces(path, piece, [&](std::string_view bytes) { text.add(bytes); });
  text.end();
  return reader.end();
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Rows of a table as the numbers that a model reads, the same way in training and afterwards.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "frontend/table.h"
#include "models/data/texts.h"

namespace graphc::core {

/// What is read, and how it becomes features.
struct FeatureOptions {
  /// Columns as read_table() has them: "load", "time:date", "site:category".
  std::vector<std::string> columns;
  /// drop leaves rows out. mean, previous and mask fill a number: by the mean of the rows that are
  /// trained on, by the row before (the first number before any), by the mean and a feature of 0
  /// where it was missing and 1 elsewhere. A missing category is the one that stands for others.
  Missing missing = Missing::refuse;
  /// The most categories of a column, the one that stands for all others included.
  int64_t categories = 16;
};

/// Features, in this order: of each number its value, and with Missing::mask whether it was there;
/// of each date six, sine and cosine of the hour of the day, the day of the week and of the year;
/// last, of each category a whole number below `categories`.
class TableFeatures {
 public:
  /// Throws ErrorKind::usage for a column without a name.
  explicit TableFeatures(FeatureOptions options);
  /// Those of note(). Throws ErrorKind::input for another text.
  static TableFeatures from_note(const std::string& note);
  /// What rows are read with later, means and categories included: JSON.
  std::string note() const;

  const FeatureOptions& options() const { return options_; }
  /// Features of a row: those that are not categories, and those that are.
  int64_t plain() const { return plain_; }
  int64_t categorical() const { return categorical_; }
  int64_t width() const { return plain_ + categorical_; }
  /// Whether each plain feature is a number to be standardised.
  const std::vector<bool>& is_number() const { return is_number_; }

  /// Means and categories of the first `rows` of a table with these columns.
  void fit(const Table& table, int64_t rows);
  /// f32[rows, width]. Throws ErrorKind::input where it needs means or categories, and has none.
  Tensor operator()(const Table& table) const;
  /// A line for each column of categories with cells that become the one which stands for all
  /// others: how many they are, and which.
  std::vector<std::string> remarks(const Table& table) const;

 private:
  void add_date(const TableColumn& column, std::span<float> to, size_t at) const;
  void add_number(const TableColumn& column, std::span<float> to, size_t at) const;
  void add_category(const TableColumn& column, std::span<float> to, size_t at) const;

  FeatureOptions options_;
  int64_t plain_ = 0, categorical_ = 0;
  std::vector<bool> is_number_;
  std::map<std::string, double> means_;
  std::map<std::string, std::vector<std::string>> categories_;
  /// How many categories the rows of fit() have; not in the note.
  std::map<std::string, int64_t> fitted_;
};

/// The note of a checkpoint that has TableFeatures::note().
inline constexpr const char* kTableNote = "table";

/// Options of read_table() for a user's way of reading; `words` are those of messages.
TableOptions table_options(const Reading& reading, Missing missing,
                           OptionWords words = OptionWords::command_line);

/// The kind that the name of a column asks for, and the name without it.
std::pair<std::string, ColumnKind> name_and_kind(const std::string& column);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Converts rows of a table to the numbers that a model reads, consistently in training and
// afterwards.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "frontend/table.h"
#include "models/data/texts.h"

namespace graphc::core {

/// The columns to read, and their conversion to features.
struct FeatureOptions {
  /// Columns in the notation of read_table(): "load", "time:date", "site:category".
  std::vector<std::string> columns;
  /// `drop` leaves out rows. The others fill a number: `mean` with the mean of the training rows,
  /// `previous` with the value of the previous row (before the first value, that one), `mask` with
  /// the mean plus a feature that is 0 where it was missing and 1 elsewhere. A missing category
  /// becomes the one that stands for others.
  Missing missing = Missing::refuse;
  /// The maximum number of categories per column, including the one that stands for all others.
  int64_t categories = 16;
};

/// Features, in this order: for each number its value and, with Missing::mask, whether it was
/// present; for each date six, sine and cosine of the hour of the day, the day of the week and of
/// the year; last, for each category an integer below `categories`.
class TableFeatures {
 public:
  /// Throws ErrorKind::usage for a column without a name.
  explicit TableFeatures(FeatureOptions options);
  /// Inverse of note(). Throws ErrorKind::input for other text.
  static TableFeatures from_note(const std::string& note);
  /// Everything needed to read rows later, means and categories included: JSON.
  std::string note() const;

  const FeatureOptions& options() const { return options_; }
  /// The features of a row: those that are not categories, and those that are.
  int64_t plain() const { return plain_; }
  int64_t categorical() const { return categorical_; }
  int64_t width() const { return plain_ + categorical_; }
  /// Whether each plain feature is a number to be standardised.
  const std::vector<bool>& is_number() const { return is_number_; }

  /// Computes means and categories from the first `rows` of a table with these columns.
  void fit(const Table& table, int64_t rows);
  /// f32[rows, width]. Throws ErrorKind::input if it needs means or categories and has none.
  Tensor operator()(const Table& table) const;
  /// One line per category column on cells mapped to the category that stands for all others: how
  /// many, and which.
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
  /// The number of categories in the rows of fit(); not in the note.
  std::map<std::string, int64_t> fitted_;
};

/// The name of the checkpoint note with TableFeatures::note().
inline constexpr const char* kTableNote = "table";

/// The read_table() options for a user's Reading; `words` are for messages.
TableOptions table_options(const Reading& reading, Missing missing,
                           OptionWords words = OptionWords::command_line);

/// The kind given in the name of a column, and the name without it.
std::pair<std::string, ColumnKind> name_and_kind(const std::string& column);

}  // namespace graphc::core

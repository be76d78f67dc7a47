// SPDX-License-Identifier: Apache-2.0
// How messages name the options of a table, in the words of whoever asked for it.
#pragma once

#include <string>

#include "frontend/table.h"

namespace graphc::core {

class TableWords {
 public:
  explicit TableWords(OptionWords words) : words_(words) {}

  bool is_program() const { return words_ == OptionWords::program; }
  /// --decimal=, or .decimal = ','.
  std::string decimal(char sign) const {
    return is_program() ? fmt::format(".decimal = '{}'", sign) : fmt::format("--decimal={}", sign);
  }
  std::string either_decimal() const { return decimal(',') + " or " + decimal('.'); }
  /// --names=yes or .names = true.
  std::string names(bool answer) const {
    if (is_program()) return fmt::format(".names = {}", answer);
    return answer ? "--names=yes" : "--names=no";
  }
  /// What else becomes of a cell of that kind without a value, behind what is wanted; nothing where
  /// the user has no such option.
  std::string missing(ColumnKind kind) const {
    if (words_ == OptionWords::trained_command) return "";
    // Dates and categories have no mean.
    return fmt::format(", or {}{}previous, drop or mask",
                       is_program() ? ".missing = Missing::" : "--missing=",
                       kind == ColumnKind::number ? "mean, " : "");
  }

 private:
  OptionWords words_;
};

}  // namespace graphc::core

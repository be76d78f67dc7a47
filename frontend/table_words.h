// SPDX-License-Identifier: Apache-2.0
// Names of table options in messages, in the words of the caller's interface.
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
  /// The alternatives for a missing cell of that kind, to append to an error; empty if the user has
  /// no such option.
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

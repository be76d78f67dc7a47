// SPDX-License-Identifier: Apache-2.0
// Values given to inputs and states on the command line: x=@x.npy, or x=0.5 for every element.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "models/data/texts.h"

namespace graphc::core::commands {

/// The text after the `=`, by name.
using Given = std::map<std::string, std::string>;

/// The assignments `name=value` of an option. Throws ErrorKind::usage for any other form, and for a
/// repeated name.
Given assignments(const std::vector<std::string>& texts, std::string_view option);

/// How to read a table that is given as an input.
struct TableInput {
  Reading reading;
  /// The note `table` of a model file (models/data/table_features.h), which describes the columns
  /// to read and how; empty if there is none.
  std::string note;
};

/// Whether a file is read as a table, according to its suffix.
bool is_table(const std::string& path);

/// The value of an argument of this type: `@file.npy`, `@-` for stdin, `@file.csv` (.tsv, .txt) for
/// a table, or a number for every element. With a model's note, a table's last rows become
/// f32[steps, batch, features]: `batch` windows, each ending one row later. Without a note, all
/// columns are numbers, [rows, columns], and fit an argument with these extents, apart from extents
/// of 1. Throws ErrorKind::usage for anything else and for a number outside the type,
/// ErrorKind::input if the file's array cannot be converted to the type (Data).
Literal read_value(const std::string& name, const std::string& text, const Type& type,
                   const TableInput& table = {});

/// Throws ErrorKind::usage for a name that is not an input or state of any of the graphs.
void check_given(const Given& given, const std::vector<GraphPtr>& graphs);

}  // namespace graphc::core::commands

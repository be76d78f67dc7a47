// SPDX-License-Identifier: Apache-2.0
// Values that a command line gives to inputs and states: x=@x.npy, or x=0.5 for every element.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "models/data/texts.h"

namespace graphc::core::commands {

/// What stands behind the `=`, by name.
using Given = std::map<std::string, std::string>;

/// The assignments `name=value` that an option was given. Throws ErrorKind::usage for another form,
/// and for a name that is given twice.
Given assignments(const std::vector<std::string>& texts, std::string_view option);

/// How a table that is given as an input is read.
struct TableInput {
  Reading reading;
  /// The note `table` of a model file (models/data/table_features.h): it says which columns are
  /// read and how; empty where there is none.
  std::string note;
};

/// Whether a file is read as a table, by the ending of its name.
bool is_table(const std::string& path);

/// The value of an argument of the type: `@file.npy`, `@-` for stdin, `@file.csv` (.tsv, .txt) for
/// a table, or a number for every element. By a model's note a table's last rows become f32[steps,
/// batch, features], batch windows of which each ends a row later; without one all its columns are
/// numbers, [rows, columns], and fit an argument of these extents, but for those of 1. Throws
/// ErrorKind::usage for what is neither or is no number of the type, ErrorKind::input when the
/// file's array does not become one of the type (Data).
Literal read_value(const std::string& name, const std::string& text, const Type& type,
                   const TableInput& table = {});

/// Throws ErrorKind::usage when a name is that of no input or state of any of the graphs.
void check_given(const Given& given, const std::vector<GraphPtr>& graphs);

}  // namespace graphc::core::commands

// SPDX-License-Identifier: Apache-2.0
// The project's own sources, for tests that check its rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

/// The location of the project's file or folder with this path from the repository root.
std::string source_path(std::string_view path);

/// One text file of the project.
struct SourceFile {
  std::string path;  ///< from the repository root, with '/': "ir/type.h"
  std::vector<std::string> lines;

  bool has_suffix(std::string_view suffix) const { return path.ends_with(suffix); }
  bool is_header() const { return has_suffix(".h"); }
  bool is_cpp() const { return has_suffix(".cpp") || has_suffix(".c") || is_header(); }
  bool is_script() const { return !lines.empty() && lines[0].starts_with("#!"); }
};

/// A file made from text, in the form that `source_files` returns.
SourceFile source_file(std::string path, std::string_view text);

/// The file at `path`, from the repository root. Throws ErrorKind::input if it cannot be read.
SourceFile read_source_file(std::string path);

/// Every C and C++ source, CMake file, .proto, .def and script of the project, sorted by path.
std::vector<SourceFile> source_files();

}  // namespace graphc::core::testing

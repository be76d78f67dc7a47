// SPDX-License-Identifier: Apache-2.0
// The project's own sources: where they are, and what the tests that hold its rules read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphc::core::testing {

/// Where the file or folder of the project is whose path from the repository root is `path`.
std::string source_path(std::string_view path);

/// One text file of the project.
struct SourceFile {
  std::string path;  ///< from the repository root, with '/': "ir/type.h"
  std::vector<std::string> lines;

  bool has_suffix(std::string_view suffix) const { return path.ends_with(suffix); }
  bool is_header() const { return has_suffix(".h"); }
  bool is_cpp() const { return has_suffix(".cpp") || has_suffix(".h"); }
  bool is_script() const { return !lines.empty() && lines[0].starts_with("#!"); }
};

/// A file made of text, as `source_files` would read it.
SourceFile source_file(std::string path, std::string_view text);

/// The file at `path`, from the repository root. Throws ErrorKind::input when it cannot be read.
SourceFile read_source_file(std::string path);

/// Every C++ source, CMake file, .proto, .def and script of the project, sorted by path.
std::vector<SourceFile> source_files();

}  // namespace graphc::core::testing

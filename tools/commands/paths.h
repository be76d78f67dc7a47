// SPDX-License-Identifier: Apache-2.0
// Files that a command line names: what is written is not what is read, and no two outputs are one.
#pragma once

#include <string>
#include <vector>

namespace graphc::core::commands {

/// A file or folder, and the option that names it.
struct NamedPath {
  std::string option;  ///< "--log", or "FILE" for a positional argument
  std::string path;
  bool whole = false;  ///< an input that is a folder: every file in it is read
};

/// Throws ErrorKind::usage, naming both options, where an output is an input or lies in a folder
/// that is read as a whole, and where two outputs are one file, by whatever paths and links. "-"
/// and devices are no files; an empty path is not given.
void check_paths(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

/// The files that values `name=@file` of an option are read from.
std::vector<NamedPath> files_of(const std::string& option, const std::vector<std::string>& values);

}  // namespace graphc::core::commands

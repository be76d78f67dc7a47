// SPDX-License-Identifier: Apache-2.0
// Checks of the files named on a command line: outputs must differ from inputs and from each other.
#pragma once

#include <string>
#include <vector>

namespace graphc::core::commands {

/// A file or folder and its option.
struct NamedPath {
  std::string option;  ///< "--log", or "FILE" for a positional argument
  std::string path;
  bool whole = false;  ///< an input folder that is read completely
};

/// Throws ErrorKind::usage, naming both options, if an output is an input or is in a folder that is
/// read completely, or if two outputs are the same file, whatever paths and links are used. "-" and
/// devices do not count as files; an empty path means not given.
void check_paths(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);

/// The files in values `name=@file` of an option.
std::vector<NamedPath> files_of(const std::string& option, const std::vector<std::string>& values);

}  // namespace graphc::core::commands

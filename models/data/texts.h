// SPDX-License-Identifier: Apache-2.0
// Text to learn from: a file, or all text files of a folder as one stream.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace graphc::core {

/// How the user's data are read.
struct Reading {
  /// The encoding of texts and tables, a name that iconv knows; UTF-8 if empty.
  std::string encoding;
  /// Of tables: what stands before the fraction of numbers (. or ,), and whether the first line has
  /// the names of the columns; 0 and nothing: as the table shows it.
  char decimal = 0;
  std::optional<bool> names;
  /// Is told, a line each, what a reader of the data should know: files that were left out, words
  /// that the model does not know. Nobody is told where it is absent.
  std::function<void(const std::string& line)> remark;

  void say(const std::string& line) const {
    if (remark) remark(line);
  }
};

/// A text file, or every text file of a folder and the folders in it, one after another in the
/// order of their paths, as UTF-8. In folders what is hidden (its name begins with a dot), empty,
/// no text (an image, a program) or of another format (an archive) is left out, and a remark says
/// which and why; a text in another encoding is an error there too. Throws ErrorKind::input,
/// naming the file and the reason, and when nothing is left.
std::string read_text(const std::filesystem::path& path, const Reading& reading = {});

}  // namespace graphc::core

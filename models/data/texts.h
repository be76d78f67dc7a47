// SPDX-License-Identifier: Apache-2.0
// Training text: a file, or all text files of a folder as one stream.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace graphc::core {

/// How to read the user's data.
struct Reading {
  /// The encoding of texts and tables, a name known to iconv; empty: UTF-8.
  std::string encoding;
  /// For tables: the decimal separator (. or ,), and whether the first line has column names; 0 and
  /// empty: detect.
  char decimal = 0;
  std::optional<bool> names;
  /// Receives lines that users should know: files that were skipped, words unknown to the model.
  /// May be empty.
  std::function<void(const std::string& line)> remark;

  void say(const std::string& line) const {
    if (remark) remark(line);
  }
};

/// A text file, or every text file of a folder and its subfolders, concatenated in the order of
/// their paths, as UTF-8. In folders, files that are hidden (the name begins with a dot), empty,
/// not text (an image, a program) or of another format (an archive) are skipped, and a remark says
/// which and why; a text in another encoding is an error there too. Throws ErrorKind::input, naming
/// the file and the reason, also if nothing is left.
std::string read_text(const std::filesystem::path& path, const Reading& reading = {});

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Text in other encodings: recognised and named, or converted to UTF-8 by the C library's iconv.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/error.h"

namespace graphc::core {

/// Why bytes are no UTF-8 text.
struct TextFault {
  /// What they look like: "UTF-16 (little endian)", "no text: byte 3 is 0".
  std::string what;
  /// An encoding to convert them from; empty where none is known.
  std::string encoding;
  /// Whether they look like text at all.
  bool is_text = false;
};

/// What is wrong with these bytes as UTF-8 text, judged by all of them; nothing where they are
/// UTF-8 without a byte 0. A byte order mark of UTF-8 is allowed.
std::optional<TextFault> text_fault(std::string_view bytes);

/// The error of ErrorKind::input for a file with that fault; it names --encoding where that helps.
Error text_error(const std::string& file, const TextFault& fault);

/// Makes UTF-8 without a byte order mark of text that comes in pieces.
class TextDecoder {
 public:
  /// `encoding` is a name that iconv knows, in any case: utf-8, windows-1252, latin-1, utf-16le ...
  /// An empty one is utf-8. `file` is how errors call the text. Throws ErrorKind::usage for a name
  /// that nobody knows.
  TextDecoder(std::string file, std::string_view encoding);

  /// UTF-8 of the piece, and of what was left of the one before. Throws ErrorKind::input, naming
  /// file, byte and reason, for bytes that are none of the encoding, and for a byte order mark of
  /// another encoding.
  std::string add(std::string_view piece);
  /// The rest; throws ErrorKind::input where the text ends within a character.
  std::string end();

 private:
  struct Converter;

  std::string begin(std::string_view bytes);
  std::string decoded(std::string_view bytes, bool last);
  std::string converted(std::string_view bytes, bool last);
  std::string checked(std::string_view bytes, bool last);
  Error fault_at(std::string_view bytes, size_t at) const;

  std::string file_, encoding_;
  std::shared_ptr<Converter> converter_;  ///< none: the text is UTF-8
  std::string rest_;                      ///< bytes that were not decoded yet
  bool began_ = false;
  uint64_t offset_ = 0;  ///< of the first byte of rest_, in the file
};

/// The text of a file, which has one: UTF-8 without a byte order mark. Throws ErrorKind::input for
/// a file that is empty, of another format (runtime/files/foreign.h), or no text in the encoding,
/// and what read_file() throws.
std::string read_text_file(const std::filesystem::path& path, std::string_view encoding = {});

}  // namespace graphc::core

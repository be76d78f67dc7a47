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
#include "runtime/files/option_words.h"

namespace graphc::core {

class Utf8Count;

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

/// How a user says that a text is in this encoding: --encoding=NAME, or .encoding = "NAME" in C++.
std::string encoding_option(std::string_view name, OptionWords words);

/// The error of ErrorKind::input for a file with that fault; it names the option where that helps.
Error text_error(const std::string& file, const TextFault& fault,
                 OptionWords words = OptionWords::command_line);

/// Makes UTF-8 without a byte order mark of text that comes in pieces.
class TextDecoder {
 public:
  /// `encoding` is a name that iconv knows, in any case: utf-8, windows-1252, latin-1, utf-16le ...
  /// An empty one is utf-8. `file` is how errors call the text. Throws ErrorKind::usage for a name
  /// that nobody knows.
  TextDecoder(std::string file, std::string_view encoding,
              OptionWords words = OptionWords::command_line);

  /// UTF-8 of the piece, and of what was left of the one before. Throws ErrorKind::input, naming
  /// file, byte and reason, for bytes that are none of the encoding, and for a byte order mark of
  /// another encoding, and for a text that shows itself to be in another: UTF-8 with characters
  /// beyond ASCII (at the latest by end()), ASCII where the encoding has other bytes for it, UTF-16
  /// of the other byte order.
  std::string add(std::string_view piece);
  /// The rest; throws ErrorKind::input where the text ends within a character.
  std::string end();

 private:
  struct Converter;

  /// Takes a byte order mark away; refuses what is plainly in another encoding.
  void begin(std::string_view& bytes);
  void refuse_other_encodings(std::string_view head) const;
  void refuse_utf8() const;
  std::string decoded(std::string_view bytes, bool last);
  std::string converted(std::string_view bytes, bool last);
  std::string checked(std::string_view bytes, bool last);
  Error fault_at(std::string_view bytes, size_t at) const;

  std::string file_, encoding_;
  std::shared_ptr<Converter> converter_;  ///< none: the text is UTF-8
  std::string rest_;                      ///< bytes that were not decoded yet
  OptionWords words_;
  bool began_ = false;
  uint64_t offset_ = 0;                 ///< of the first byte of rest_, in the file
  int64_t characters_ = 0;              ///< beyond ASCII, decoded as UTF-8
  int64_t lines_ = 0;                   ///< ends of lines, decoded as UTF-8
  std::shared_ptr<Utf8Count> as_utf8_;  ///< what a text to be converted is as UTF-8
};

/// The text of a file, which has one: UTF-8 without a byte order mark. Throws ErrorKind::input for
/// a file that is empty, of another format (runtime/files/foreign.h), or no text in the encoding,
/// and what read_file() throws.
std::string read_text_file(const std::filesystem::path& path, std::string_view encoding = {});

}  // namespace graphc::core

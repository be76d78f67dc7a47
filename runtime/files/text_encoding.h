// SPDX-License-Identifier: Apache-2.0
// Text encodings: detection, and conversion to UTF-8 with the C library's iconv.
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

/// Why bytes are not UTF-8 text.
struct TextFault {
  /// What they look like: "UTF-16 (little endian)", "no text: byte 3 is 0".
  std::string what;
  /// An encoding to convert them from; empty if unknown.
  std::string encoding;
  /// Whether they look like text at all.
  bool is_text = false;
};

/// The fault of these bytes as UTF-8 text, judged by all of them; empty if they are UTF-8 without a
/// byte 0. A UTF-8 byte order mark is allowed.
std::optional<TextFault> text_fault(std::string_view bytes);

/// The option for this encoding: --encoding=NAME, or .encoding = "NAME" in C++.
std::string encoding_option(std::string_view name, OptionWords words);

/// The ErrorKind::input error for a file with this fault; suggests the option if it helps.
Error text_error(const std::string& file, const TextFault& fault,
                 OptionWords words = OptionWords::command_line);

/// Converts text that arrives in pieces to UTF-8 without a byte order mark.
class TextDecoder {
 public:
  /// `encoding` is a name known to iconv, in any case: utf-8, windows-1252, latin-1, utf-16le ...
  /// Empty means utf-8. `file` is the name in errors. Throws ErrorKind::usage for an unknown name.
  TextDecoder(std::string file, std::string_view encoding,
              OptionWords words = OptionWords::command_line);

  /// The UTF-8 of the piece and of the undecoded rest of the previous one. Throws ErrorKind::input,
  /// naming file, byte and reason, for bytes that are invalid in the encoding, for a byte order
  /// mark of another encoding, and for a text that is evidently in another encoding: UTF-8 with
  /// characters beyond ASCII (detected by end() at the latest), ASCII in an encoding incompatible
  /// with it, UTF-16 of the other byte order.
  std::string add(std::string_view piece);
  /// The rest; throws ErrorKind::input if the text ends within a character.
  std::string end();

 private:
  struct Converter;

  /// Skips a byte order mark; throws for evidently different encodings.
  void begin(std::string_view& bytes);
  void refuse_other_encodings(std::string_view head) const;
  void refuse_utf8() const;
  std::string decoded(std::string_view bytes, bool last);
  std::string converted(std::string_view bytes, bool last);
  std::string checked(std::string_view bytes, bool last);
  Error fault_at(std::string_view bytes, size_t at) const;

  std::string file_, encoding_;
  std::shared_ptr<Converter> converter_;  ///< none: the text is UTF-8
  std::string rest_;                      ///< bytes not decoded yet
  OptionWords words_;
  bool began_ = false;
  uint64_t offset_ = 0;                 ///< position in the file of the first byte of rest_
  int64_t characters_ = 0;              ///< beyond ASCII, decoded as UTF-8
  int64_t lines_ = 0;                   ///< line ends, decoded as UTF-8
  std::shared_ptr<Utf8Count> as_utf8_;  ///< the text to be converted, interpreted as UTF-8
};

/// The text of a file, as UTF-8 without a byte order mark. Throws ErrorKind::input for a file that
/// is empty, of another format (runtime/files/foreign.h), or not text in the encoding, and whatever
/// read_file() throws.
std::string read_text_file(const std::filesystem::path& path, std::string_view encoding = {});

}  // namespace graphc::core

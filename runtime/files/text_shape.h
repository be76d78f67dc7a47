// SPDX-License-Identifier: Apache-2.0
// What the bytes of a text reveal about its encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/files/text_encoding.h"

namespace graphc::core {

/// Bytes to examine before decoding starts.
inline constexpr size_t kDecoderHead = 4096;

/// A byte order mark, its encoding, and the name of that in errors.
struct TextMark {
  std::string_view bytes, encoding, name;
};

/// The byte order mark at the start of the bytes, or nullptr.
const TextMark* mark_of(std::string_view bytes);

/// UTF-16 or UTF-32 without a mark: Latin letters have zero bytes at regular positions.
std::optional<TextFault> wide_without_mark(std::string_view bytes);

/// Whether UTF-16 without a mark has more blanks, line ends, commas and points in the other byte
/// order than in the given one. Their byte-swapped values are rare in every script.
bool is_utf16_of_other_order(std::string_view bytes, bool is_big_endian);

/// The position of the first byte that is 0 or not UTF-8; the size if there is none.
size_t first_fault(std::string_view bytes);

/// Whether this is a valid prefix of a character that may continue.
bool is_cut_short(std::string_view bytes);

/// Whether it has control characters that do not occur in text.
bool has_control_characters(std::string_view bytes);

/// Counts the non-ASCII characters of a text that arrives in pieces, interpreted as UTF-8.
class Utf8Count {
 public:
  void add(std::string_view piece);
  int64_t characters() const { return characters_; }
  /// Bytes so far that are not UTF-8; not counting a character cut off by the last piece.
  int64_t faults() const { return faults_; }

 private:
  std::string rest_;
  int64_t characters_ = 0, faults_ = 0;
};

}  // namespace graphc::core

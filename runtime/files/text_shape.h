// SPDX-License-Identifier: Apache-2.0
// What the bytes of a text show of its encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/files/text_encoding.h"

namespace graphc::core {

/// So many bytes are seen before the first of them is decoded.
inline constexpr size_t kDecoderHead = 4096;

/// A byte order mark, the encoding it is of, and how errors call that.
struct TextMark {
  std::string_view bytes, encoding, name;
};

/// The byte order mark that the bytes begin with, or nullptr.
const TextMark* mark_of(std::string_view bytes);

/// UTF-16 or UTF-32 without a mark: the bytes of Latin letters that are 0 are always the same ones.
std::optional<TextFault> wide_without_mark(std::string_view bytes);

/// Whether UTF-16 without a mark has more blanks, line ends, commas and points in the other byte
/// order than in the one that is said. What they are in the wrong order is rare in every script.
bool is_utf16_of_other_order(std::string_view bytes, bool is_big_endian);

/// The place of the first byte that is no UTF-8 or 0; the size where there is none.
size_t first_fault(std::string_view bytes);

/// Whether what begins here is the beginning of a character whose end may follow.
bool is_cut_short(std::string_view bytes);

/// Whether it has control characters that texts have none of.
bool has_control_characters(std::string_view bytes);

/// Counts the characters beyond ASCII that a text which comes in pieces has as UTF-8.
class Utf8Count {
 public:
  void add(std::string_view piece);
  int64_t characters() const { return characters_; }
  /// Bytes so far that are none of UTF-8; what the last piece cut is none.
  int64_t faults() const { return faults_; }

 private:
  std::string rest_;
  int64_t characters_ = 0, faults_ = 0;
};

}  // namespace graphc::core

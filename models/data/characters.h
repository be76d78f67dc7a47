// SPDX-License-Identifier: Apache-2.0
// Text as characters: a vocabulary of the most frequent ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/unknown.h"

namespace graphc::core {

/// Unicode code points and their ids, from the most frequent (0) down; ties are in code point
/// order. The last id stands for every other character.
class Characters {
 public:
  /// The most frequent characters of `text`, at most limit - 1. A byte that is not UTF-8 counts as
  /// one of the others. Throws ErrorKind::input if the text is empty.
  Characters(std::string_view text, int32_t limit);
  /// Inverse of to_text(). Throws ErrorKind::input if a character is repeated.
  static Characters from_text(std::string_view characters);

  /// The number of ids, including that of the others.
  int32_t size() const { return int32_t(known_.size()) + 1; }
  std::vector<int32_t> ids(std::string_view text) const;
  /// The characters of the text that are not in the vocabulary.
  Unknown unknown(std::string_view text) const;
  /// UTF-8; U+FFFD, the replacement character, for the id of the others.
  std::string text(int32_t id) const;
  /// The known characters in the order of their ids, as UTF-8.
  std::string to_text() const;

 private:
  Characters() = default;
  std::vector<char32_t> known_;
  std::map<char32_t, int32_t> ids_;
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Text as characters: a vocabulary of the frequent ones.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/unknown.h"

namespace graphc::core {

/// Unicode code points and their ids: 0 for the most frequent; among equally frequent ones the
/// smaller comes first. The last id stands for every other character.
class Characters {
 public:
  /// The most frequent characters of `text`, at most limit - 1 of them. A byte that is no UTF-8
  /// counts as one of the others. Throws ErrorKind::input when the text is empty.
  Characters(std::string_view text, int32_t limit);
  /// The characters of to_text(). Throws ErrorKind::input when one comes twice.
  static Characters from_text(std::string_view characters);

  /// Ids there are, that of the others included.
  int32_t size() const { return int32_t(known_.size()) + 1; }
  std::vector<int32_t> ids(std::string_view text) const;
  /// What of the text is none of them.
  Unknown unknown(std::string_view text) const;
  /// UTF-8; U+FFFD, the replacement character, for the id of the others.
  std::string text(int32_t id) const;
  /// The known characters in the order of their ids, UTF-8.
  std::string to_text() const;

 private:
  Characters() = default;
  std::vector<char32_t> known_;
  std::map<char32_t, int32_t> ids_;
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Decodes UTF-8, counts characters, and numbers them.
#include "models/data/characters.h"

#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "ir/utf8.h"

namespace graphc::core {
namespace {

void append(std::string& text, char32_t point) {
  const auto add = [&](char32_t byte) { text.push_back(char(byte)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      add(0xE0 | point >> 12);
    } else {
      add(0xF0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3F));
    }
    add(0x80 | (point >> 6 & 0x3F));
  }
  add(0x80 | (point & 0x3F));
}

/// Calls `use` with each character; bytes that are not UTF-8 become kReplacement.
template <typename Use>
void for_each_character(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const auto [point, length] = decode_utf8(text);
    use(point);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

}  // namespace

Characters::Characters(std::string_view text, int32_t limit) {
  std::map<char32_t, int64_t> counts;
  for_each_character(text, [&](char32_t point) { ++counts[point]; });
  counts.erase(kReplacement);
  if (counts.empty()) throw input_error({}, "a text without characters: wanted some text");
  std::vector<std::pair<char32_t, int64_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  order.resize(std::min(order.size(), size_t(std::max(limit - 1, 1))));
  for (const auto& [point, count] : order) {
    ids_.emplace(point, int32_t(known_.size()));
    known_.push_back(point);
  }
}

Characters Characters::from_text(std::string_view characters) {
  Characters result;
  for_each_character(characters, [&](char32_t point) {
    if (!result.ids_.emplace(point, int32_t(result.known_.size())).second)
      throw input_error({}, "a list of characters has one twice: U+{:04X}", uint32_t(point));
    result.known_.push_back(point);
  });
  return result;
}

std::vector<int32_t> Characters::ids(std::string_view text) const {
  std::vector<int32_t> result;
  result.reserve(text.size());
  for_each_character(text, [&](char32_t point) {
    const auto known = ids_.find(point);
    result.push_back(known == ids_.end() ? size() - 1 : known->second);
  });
  return result;
}

Unknown Characters::unknown(std::string_view text) const {
  Unknown result;
  for_each_character(text, [&](char32_t point) {
    ++result.all;
    if (ids_.contains(point)) return;
    std::string character;
    append(character, point);
    ++result.counts[character];
  });
  return result;
}

std::string Characters::text(int32_t id) const {
  std::string result;
  append(result, id >= 0 && id < size() - 1 ? known_[size_t(id)] : kReplacement);
  return result;
}

std::string Characters::to_text() const {
  std::string result;
  for (char32_t point : known_) append(result, point);
  return result;
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "models/data/character_windows.h"

#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/utf8.h"

namespace graphc::core {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (size_t i = 0; i < result.size(); ++i) {
    const auto byte = uint8_t(result[i]);
    if (byte >= 'A' && byte <= 'Z') result[i] = char(byte + 32);
    // U+00C0 to U+00DE except the multiplication sign U+00D7: C3 80 to C3 9E.
    if (byte >= 0x80 && byte <= 0x9E && byte != 0x97 && i > 0 && uint8_t(result[i - 1]) == 0xC3)
      result[i] = char(byte + 32);
  }
  return result;
}

std::string alphanumeric(std::string_view text) {
  std::string result;
  bool in_run = false, line_has_run = false;
  for (const char c : text) {
    if (is_alphanumeric(c)) {
      if (!in_run && line_has_run) result.push_back(' ');
      result.push_back(c);
      in_run = line_has_run = true;
    } else {
      in_run = false;
      if (c == '\n') line_has_run = false;
    }
  }
  return result;
}

std::string alphabet_of(std::string_view text) {
  // UTF-8 byte order equals code point order.
  std::set<std::string_view> characters;
  for (size_t at = 0; at < text.size();) {
    const auto [point, length] = decode_utf8(text.substr(at));
    if (length == 0) throw input_error({}, "byte {} of the text is no UTF-8: wanted text", at);
    characters.insert(text.substr(at, length));
    at += length;
  }
  std::string result;
  for (std::string_view character : characters) result += character;
  return result;
}

std::string read_nietzsche(const std::filesystem::path& path, const Reading& reading) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  return lower_case(read_text(folder ? path / "nietzsche.txt" : path, reading));
}

std::string read_wikitext2_characters(const std::filesystem::path& folder, std::string_view part,
                                      const Reading& reading) {
  return lower_case(alphanumeric(read_text(folder / (std::string(part) + ".txt"), reading)));
}

CharacterWindows::CharacterWindows(std::vector<int32_t> ids, int64_t steps, int64_t stride)
    : ids_(std::move(ids)), steps_(steps), stride_(stride) {
  const int64_t length = int64_t(ids_.size());
  if (length <= steps) {
    throw input_error({}, "the text has {} characters: wanted more than {}, the steps of a window",
                      length, steps);
  }
  count_ = (length - steps + stride - 1) / stride;
}

std::span<const int32_t> CharacterWindows::window(int64_t index) const {
  return std::span(ids_).subspan(size_t(index * stride_), size_t(steps_));
}

std::vector<Tensor> CharacterWindows::batch(std::span<const int64_t> windows) const {
  const size_t batch = windows.size();
  Tensor tokens(Type{DType::i32, {steps_, int64_t(batch)}});
  Tensor targets(Type{DType::i32, {int64_t(batch)}});
  const std::span<int32_t> token = tokens.mutable_data<int32_t>();
  const std::span<int32_t> target = targets.mutable_data<int32_t>();
  for (size_t row = 0; row < batch; ++row) {
    const std::span<const int32_t> ids = window(windows[row]);
    for (size_t t = 0; t < ids.size(); ++t) token[t * batch + row] = ids[t];
    target[row] = this->target(windows[row]);
  }
  return {tokens, targets};
}

}  // namespace graphc::core

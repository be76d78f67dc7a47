// SPDX-License-Identifier: Apache-2.0
// Detects encodings from bytes.
#include "runtime/files/text_encoding.h"

#include <algorithm>
#include <array>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/files/text_shape.h"

namespace graphc::core {
namespace {

using namespace std::string_view_literals;

// UTF-32 before UTF-16, whose mark is a prefix.
constexpr TextMark kMarks[] = {
    {"\xff\xfe\0\0"sv, "utf-32le", "UTF-32 (little endian)"},
    {"\0\0\xfe\xff"sv, "utf-32be", "UTF-32 (big endian)"},
    {"\xff\xfe"sv, "utf-16le", "UTF-16 (little endian)"},
    {"\xfe\xff"sv, "utf-16be", "UTF-16 (big endian)"},
    {"\xef\xbb\xbf", "utf-8", "UTF-8"},
};

struct Census {
  size_t high = 0;       ///< bytes above 0x7F
  size_t c1 = 0;         ///< bytes 0x80 to 0x9F: control characters in Latin-1
  size_t undefined = 0;  ///< those of them undefined in Windows-1252
  size_t control = 0;    ///< control characters that do not occur in text
};

Census census_of(std::string_view bytes) {
  Census census;
  for (const char each : bytes) {
    const auto byte = uint8_t(each);
    census.high += byte >= 0x80;
    census.c1 += byte >= 0x80 && byte <= 0x9F;
    census.undefined +=
        byte == 0x81 || byte == 0x8D || byte == 0x8F || byte == 0x90 || byte == 0x9D;
    census.control += (byte < 0x20 && (byte < 0x07 || byte > 0x0D) && byte != 0x1B) || byte == 0x7F;
  }
  return census;
}

/// Whether more non-ASCII characters are valid UTF-8 than not: two Latin-1 letters may form one by
/// chance.
bool is_mostly_utf8(std::string_view bytes) {
  Utf8Count count;
  count.add(bytes);
  return count.characters() >= count.faults() && count.characters() > 0;
}

/// The probable encoding of bytes that have no 0 and are not UTF-8.
TextFault eight_bits(std::string_view bytes, size_t at) {
  const Census census = census_of(bytes);
  const std::string where = fmt::format("byte {} is 0x{:02x}", at, uint8_t(bytes[at]));
  if (census.control * 100 > bytes.size()) return {fmt::format("no text: {}", where), "", false};
  if (census.high * 4 > bytes.size()) {
    return {fmt::format("text in an encoding that is not UTF-8 and not of Latin letters ({}), "
                        "such as windows-1251, koi8-r, shift_jis, gb18030, big5",
                        where),
            "", true};
  }
  if (census.undefined > 0)
    return {fmt::format("text in an encoding that is not UTF-8 ({})", where), "", true};
  if (census.c1 > 0) return {fmt::format("text in Windows-1252 ({})", where), "windows-1252", true};
  return {fmt::format("text in Latin-1 or another encoding of eight bits ({})", where), "latin-1",
          true};
}

}  // namespace

const TextMark* mark_of(std::string_view bytes) {
  const auto found = std::ranges::find_if(
      kMarks, [&](const TextMark& mark) { return bytes.starts_with(mark.bytes); });
  return found == std::end(kMarks) ? nullptr : found;
}

std::optional<TextFault> wide_without_mark(std::string_view bytes) {
  const size_t sample = std::min(bytes.size(), kDecoderHead) / 4 * 4;
  if (sample < 4) return std::nullopt;
  std::array<size_t, 4> zeros{};
  for (size_t i = 0; i < sample; ++i) zeros[i % 4] += bytes[i] == '\0';
  const size_t units = sample / 4;
  const auto most = [&](size_t i) { return zeros[i] * 10 >= units * 9; };
  const auto few = [&](size_t i) { return zeros[i] * 20 <= units; };
  const auto found = [](std::string_view name, std::string_view encoding) {
    return TextFault{fmt::format("text in {} without a byte order mark", name),
                     std::string(encoding), true};
  };
  if (few(0) && most(1) && most(2) && most(3)) return found(kMarks[0].name, "utf-32le");
  if (most(0) && most(1) && most(2) && few(3)) return found(kMarks[1].name, "utf-32be");
  if (few(0) && most(1) && few(2) && most(3)) return found(kMarks[2].name, "utf-16le");
  if (most(0) && few(1) && most(2) && few(3)) return found(kMarks[3].name, "utf-16be");
  return std::nullopt;
}

bool is_utf16_of_other_order(std::string_view bytes, bool is_big_endian) {
  constexpr std::string_view kCommon = " \t\n\r,.;";
  size_t said = 0, other = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const char high = bytes[is_big_endian ? i : i + 1], low = bytes[is_big_endian ? i + 1 : i];
    said += high == '\0' && kCommon.find(low) != kCommon.npos;
    other += low == '\0' && kCommon.find(high) != kCommon.npos;
  }
  return other > said;
}

size_t first_fault(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] == '\0') return at;
    const size_t length = decode_utf8(bytes.substr(at)).second;
    if (length == 0) return at;
    at += length;
  }
  return bytes.size();
}

bool is_cut_short(std::string_view bytes) {
  const auto first = uint8_t(bytes[0]);
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
  if (first > 0xF4 || bytes.size() >= length) return false;
  return std::ranges::all_of(bytes.substr(1), [](char c) { return (uint8_t(c) & 0xC0) == 0x80; });
}

bool has_control_characters(std::string_view bytes) { return census_of(bytes).control > 0; }

void Utf8Count::add(std::string_view piece) {
  rest_ += piece;
  size_t at = 0;
  while (at < rest_.size()) {
    const std::string_view left = std::string_view(rest_).substr(at);
    const size_t length = decode_utf8(left).second;
    if (length == 0 && is_cut_short(left)) break;
    characters_ += length > 1;
    faults_ += length == 0;
    at += std::max<size_t>(length, 1);
  }
  rest_.erase(0, at);
}

std::optional<TextFault> text_fault(std::string_view bytes) {
  if (const TextMark* mark = mark_of(bytes); mark != nullptr && mark->encoding != "utf-8") {
    return TextFault{fmt::format("text in {}", mark->name), std::string(mark->encoding), true};
  }
  const size_t at = first_fault(bytes);
  if (at == bytes.size()) return std::nullopt;
  if (bytes.find('\0') != bytes.npos) {
    if (auto wide = wide_without_mark(bytes)) return wide;
    return TextFault{fmt::format("no text: byte {} is 0", bytes.find('\0')), "", false};
  }
  const std::string_view before = bytes.substr(0, at);
  const bool is_utf8 = is_mostly_utf8(bytes);
  if (at > 0 && is_cut_short(bytes.substr(at)))
    return TextFault{fmt::format("UTF-8 that ends within a character (byte {})", at), "", true};
  if (is_utf8) {
    return TextFault{fmt::format("UTF-8 with a damaged place: byte {}, in line {}, is 0x{:02x}", at,
                                 1 + std::ranges::count(before, '\n'), uint8_t(bytes[at])),
                     "", true};
  }
  return eight_bits(bytes, at);
}

std::string encoding_option(std::string_view name, OptionWords words) {
  if (words != OptionWords::program) return fmt::format("--encoding={}", name);
  return fmt::format(".encoding = \"{}\"", name);
}

Error text_error(const std::string& file, const TextFault& fault, OptionWords words) {
  if (!fault.is_text) return input_error({}, "'{}' is {}: wanted a text", file, fault.what);
  if (fault.encoding.empty()) {
    return input_error({}, "'{}' is {}: wanted UTF-8, or the name of its encoding: {} converts it",
                       file, fault.what, encoding_option("NAME", words));
  }
  return input_error({}, "'{}' is {}: wanted UTF-8; {} converts it", file, fault.what,
                     encoding_option(fault.encoding, words));
}

}  // namespace graphc::core

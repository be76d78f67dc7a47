// SPDX-License-Identifier: Apache-2.0
// Recognises encodings by their bytes, and converts them with iconv.
#include "runtime/files/text_encoding.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <vector>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"

namespace graphc::core {
namespace {

using namespace std::string_view_literals;

/// So many bytes are seen before the first of them is decoded.
constexpr size_t kDecoderHead = 4096;
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

struct Mark {
  std::string_view bytes, encoding, name;
};
// UTF-32 before UTF-16, whose mark its own begins with.
constexpr Mark kMarks[] = {
    {"\xff\xfe\0\0"sv, "utf-32le", "UTF-32 (little endian)"},
    {"\0\0\xfe\xff"sv, "utf-32be", "UTF-32 (big endian)"},
    {"\xff\xfe"sv, "utf-16le", "UTF-16 (little endian)"},
    {"\xfe\xff"sv, "utf-16be", "UTF-16 (big endian)"},
    {kUtf8Mark, "utf-8", "UTF-8"},
};

const Mark* mark_of(std::string_view bytes) {
  const auto found =
      std::ranges::find_if(kMarks, [&](const Mark& mark) { return bytes.starts_with(mark.bytes); });
  return found == std::end(kMarks) ? nullptr : found;
}

/// UTF-16 or UTF-32 without a mark: the bytes of Latin letters that are 0 are always the same ones.
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

struct Census {
  size_t high = 0;       ///< bytes above 0x7F
  size_t c1 = 0;         ///< bytes 0x80 to 0x9F: control characters in Latin-1
  size_t undefined = 0;  ///< those of them that Windows-1252 has no character for
  size_t control = 0;    ///< control characters that texts have none of
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

/// The place of the first byte that is no UTF-8 or 0; the size where there is none.
size_t first_fault(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] == '\0') return at;
    const size_t length = decode_utf8(bytes.substr(at)).second;
    if (length == 0) return at;
    at += length;
  }
  return bytes.size();
}

/// Whether what begins here is the beginning of a character whose end may follow.
bool is_cut_short(std::string_view bytes) {
  const auto first = uint8_t(bytes[0]);
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
  if (first > 0xF4 || bytes.size() >= length) return false;
  return std::ranges::all_of(bytes.substr(1), [](char c) { return (uint8_t(c) & 0xC0) == 0x80; });
}

/// Whether more characters beyond ASCII are UTF-8 than are none: two letters of Latin-1 may be one
/// by chance.
bool is_mostly_utf8(std::string_view bytes) {
  int64_t characters = 0, faults = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = decode_utf8(bytes.substr(at)).second;
    characters += length > 1;
    faults += length == 0;
    at += std::max<size_t>(length, 1);
  }
  return characters >= faults && characters > 0;
}

/// What bytes without a 0 that are no UTF-8 look like.
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

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// The name as the C library has it.
std::string library_name(std::string_view encoding) {
  const std::string name = lower(encoding);
  if (name == "latin-1" || name == "latin1") return "ISO-8859-1";
  return name;
}

bool is_utf8_name(std::string_view encoding) {
  const std::string name = lower(encoding);
  return name.empty() || name == "utf-8" || name == "utf8";
}

/// Whether it is an encoding of eight bits in which almost no text is UTF-8 by chance.
bool is_latin(std::string_view encoding) {
  const std::string name = library_name(encoding);
  return name == "ISO-8859-1" || name == "iso-8859-1" || name == "iso-8859-15" ||
         name == "windows-1252" || name == "cp1252";
}

}  // namespace

struct TextDecoder::Converter {
  explicit Converter(const std::string& from) : handle(iconv_open("UTF-8", from.c_str())) {}
  Converter(const Converter&) = delete;
  ~Converter() {
    if (is_open()) iconv_close(handle);
  }
  bool is_open() const { return handle != iconv_t(-1); }

  iconv_t handle;
};

std::optional<TextFault> text_fault(std::string_view bytes) {
  if (const Mark* mark = mark_of(bytes); mark != nullptr && mark->encoding != "utf-8") {
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

Error text_error(const std::string& file, const TextFault& fault) {
  if (!fault.is_text) return input_error({}, "'{}' is {}: wanted a text", file, fault.what);
  if (fault.encoding.empty()) {
    return input_error(
        {}, "'{}' is {}: wanted UTF-8, or the name of its encoding: --encoding=NAME converts it",
        file, fault.what);
  }
  return input_error({}, "'{}' is {}: wanted UTF-8; --encoding={} converts it", file, fault.what,
                     fault.encoding);
}

TextDecoder::TextDecoder(std::string file, std::string_view encoding)
    : file_(std::move(file)), encoding_(encoding) {
  if (is_utf8_name(encoding)) return;
  const bool plain = std::ranges::all_of(encoding, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ':';
  });
  if (plain) converter_ = std::make_shared<Converter>(library_name(encoding));
  if (converter_ != nullptr && converter_->is_open()) return;
  throw Error(ErrorKind::usage, {},
              fmt::format("there is no encoding '{}': wanted utf-8, windows-1252, latin-1, "
                          "utf-16le, or another name that `iconv -l` lists",
                          printable(encoding)));
}

std::string TextDecoder::add(std::string_view piece) {
  rest_ += piece;
  if (!began_ && rest_.size() < kDecoderHead) return {};
  return decoded(std::exchange(rest_, {}), false);
}

std::string TextDecoder::end() { return decoded(std::exchange(rest_, {}), true); }

std::string TextDecoder::decoded(std::string_view bytes, bool last) {
  if (!began_) {
    began_ = true;
    const Mark* mark = mark_of(bytes);
    if (mark != nullptr) {
      const std::string name = lower(encoding_);
      // utf-16 is either; a mark of UTF-16 may begin UTF-16 and not UTF-32.
      const bool fits =
          is_utf8_name(encoding_) ? mark->encoding == "utf-8" : mark->encoding.starts_with(name);
      if (!fits) {
        throw input_error({}, "'{}' begins with the byte order mark of {}: wanted {}{}", file_,
                          mark->name, converter_ ? encoding_ : "UTF-8",
                          fmt::format("; --encoding={} converts it", mark->encoding));
      }
      if (name == "utf-16" || name == "utf-32")
        converter_ = std::make_shared<Converter>(std::string(mark->encoding));
      bytes.remove_prefix(mark->bytes.size());
      offset_ += mark->bytes.size();
    } else if (const std::string name = lower(encoding_); name == "utf-16" || name == "utf-32") {
      throw input_error({}, "'{}' has no byte order mark: wanted --encoding={}le or {}be", file_,
                        name, name);
    }
  }
  return converter_ ? converted(bytes, last) : checked(bytes, last);
}

std::string TextDecoder::checked(std::string_view bytes, bool last) {
  const size_t at = first_fault(bytes);
  if (at < bytes.size()) {
    if (last || bytes[at] == '\0' || !is_cut_short(bytes.substr(at))) throw fault_at(bytes, at);
    rest_ = bytes.substr(at);
  }
  offset_ += at;
  return std::string(bytes.substr(0, at));
}

/// The fault that these bytes have at this place, numbered from the file's first byte.
Error TextDecoder::fault_at(std::string_view bytes, size_t at) const {
  // Pieces in the middle of a file may begin anywhere: what they look like is told without place.
  if (offset_ == 0 || mark_of(bytes.substr(0, 4)) == nullptr) {
    if (const auto fault = text_fault(bytes)) {
      Error error = text_error(file_, *fault);
      if (offset_ > 0) error.note(fmt::format("counted from byte {} of the file", offset_));
      return error;
    }
  }
  return input_error({}, "'{}' is no UTF-8 text: byte {} is 0x{:02x}", file_, offset_ + at,
                     uint8_t(bytes[at]));
}

std::string TextDecoder::converted(std::string_view bytes, bool last) {
  if (is_latin(encoding_) && first_fault(bytes) == bytes.size() && census_of(bytes).high > 0) {
    throw input_error({},
                      "'{}' is UTF-8 with characters beyond ASCII: wanted {}, as --encoding says",
                      file_, encoding_);
  }
  std::string input(bytes), result, block(size_t{1} << 16, '\0');
  char* from = input.data();
  size_t left = input.size(), status = 0;
  do {
    char* to = block.data();
    size_t room = block.size();
    status = iconv(converter_->handle, &from, &left, &to, &room);
    result.append(block.data(), block.size() - room);
  } while (status == size_t(-1) && errno == E2BIG);
  const size_t done = input.size() - left;
  if (status == size_t(-1) && (errno != EINVAL || last)) {
    throw input_error({}, "'{}' is no text in {}: byte {} is 0x{:02x}{}", file_, encoding_,
                      offset_ + done, uint8_t(input[done]),
                      errno == EINVAL ? ", the beginning of a character that does not end" : "");
  }
  if (const size_t zero = result.find('\0'); zero != result.npos)
    throw input_error({}, "'{}' is no text in {}: it has characters 0", file_, encoding_);
  rest_ = input.substr(done);
  offset_ += done;
  return result;
}

std::string read_text_file(const std::filesystem::path& path, std::string_view encoding) {
  TextDecoder decoder(path.string(), encoding);
  const std::string bytes = read_file(path, kMostOfText);
  refuse_foreign(bytes, path, Wanted::text);
  if (bytes.empty()) throw input_error({}, "'{}' is empty: wanted text", path.string());
  std::string text = decoder.add(bytes);
  text += decoder.end();
  if (text.empty()) throw input_error({}, "'{}' is empty: wanted text", path.string());
  return text;
}

}  // namespace graphc::core

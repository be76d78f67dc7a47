// SPDX-License-Identifier: Apache-2.0
// Converts texts to UTF-8 with iconv, and refuses texts that are evidently in another encoding.
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/text_shape.h"

namespace graphc::core {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// The encoding's name in the C library.
std::string library_name(std::string_view encoding) {
  const std::string name = lower(encoding);
  if (name == "latin-1" || name == "latin1") return "ISO-8859-1";
  return name;
}

bool is_utf8_name(std::string_view encoding) {
  const std::string name = lower(encoding);
  return name.empty() || name == "utf-8" || name == "utf8";
}

/// How many non-ASCII characters of a text in this encoding may be valid UTF-8 by chance. In 8-bit
/// encodings none: nobody writes Ã© or Ð². Two bytes of a Chinese character may form a UTF-8
/// character, but hardly three times and nowhere else.
int64_t most_by_chance(std::string_view encoding) {
  const std::string name = lower(encoding);
  for (const char* family : {"gb", "big5", "euc", "shift", "sjis", "cp9", "johab", "uhc"}) {
    if (name.starts_with(family)) return 2;
  }
  return 0;
}

/// This many bytes of UTF-16 have at least one zero byte in every script: from line ends or spaces.
constexpr size_t kFewestOfUtf16 = 1024;

}  // namespace

struct TextDecoder::Converter {
  explicit Converter(const std::string& from) : handle(iconv_open("UTF-8", from.c_str())) {}
  Converter(const Converter&) = delete;
  ~Converter() {
    if (is_open()) iconv_close(handle);
  }
  bool is_open() const { return handle != iconv_t(-1); }
  /// Whether letters, digits and line ends have their ASCII bytes.
  bool keeps_ascii() const {
    std::string ascii = "Az09 ,\n";
    std::array<char, 64> block{};
    char *from = ascii.data(), *to = block.data();
    size_t left = ascii.size(), room = block.size();
    iconv(handle, &from, &left, &to, &room);
    iconv(handle, nullptr, nullptr, nullptr, nullptr);
    return std::string_view(block.data(), block.size() - room) == "Az09 ,\n";
  }

  iconv_t handle;
};

TextDecoder::TextDecoder(std::string file, std::string_view encoding, OptionWords words)
    : file_(std::move(file)), encoding_(encoding), words_(words) {
  if (is_utf8_name(encoding)) return;
  const bool plain = std::ranges::all_of(encoding, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == ':';
  });
  if (plain) converter_ = std::make_shared<Converter>(library_name(encoding));
  as_utf8_ = std::make_shared<Utf8Count>();
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

std::string TextDecoder::end() {
  std::string text = decoded(std::exchange(rest_, {}), true);
  refuse_utf8();
  return text;
}

std::string TextDecoder::decoded(std::string_view bytes, bool last) {
  if (!std::exchange(began_, true)) begin(bytes);
  return converter_ ? converted(bytes, last) : checked(bytes, last);
}

void TextDecoder::begin(std::string_view& bytes) {
  const TextMark* mark = mark_of(bytes);
  const std::string name = lower(encoding_);
  if (mark == nullptr) {
    if (converter_ != nullptr) refuse_other_encodings(bytes);
    if (name != "utf-16" && name != "utf-32") return;
    throw input_error({}, "'{}' has no byte order mark: wanted {} or {}be", file_,
                      encoding_option(name + "le", words_), name);
  }
  // "utf-16" allows either mark; a UTF-16 mark may begin UTF-16 but not UTF-32.
  const bool fits =
      is_utf8_name(encoding_) ? mark->encoding == "utf-8" : mark->encoding.starts_with(name);
  if (!fits) {
    throw input_error({}, "'{}' begins with the byte order mark of {}: wanted {}; {} converts it",
                      file_, mark->name, converter_ ? encoding_ : "UTF-8",
                      encoding_option(mark->encoding, words_));
  }
  if (name == "utf-16" || name == "utf-32")
    converter_ = std::make_shared<Converter>(std::string(mark->encoding));
  bytes.remove_prefix(mark->bytes.size());
  offset_ += mark->bytes.size();
}

void TextDecoder::refuse_other_encodings(std::string_view head) const {
  const std::string name = lower(encoding_);
  const auto refuse = [&](const std::string& what, std::string_view encoding) {
    return input_error({}, "'{}' is {}: wanted {}, as said; {} reads it", file_, what, encoding_,
                       encoding_option(encoding, words_));
  };
  if (head.empty()) return;
  if (const auto wide = wide_without_mark(head);
      wide && !name.starts_with(wide->encoding) && !wide->encoding.starts_with(name) &&
      (name.starts_with("utf-16") || name.starts_with("utf-32") || converter_->keeps_ascii()))
    throw refuse(wide->what, wide->encoding);
  if (name == "utf-16le" || name == "utf-16be") {
    const bool is_big_endian = name == "utf-16be";
    if (is_utf16_of_other_order(head, is_big_endian)) {
      throw refuse(fmt::format("text in UTF-16 ({} endian) without a byte order mark",
                               is_big_endian ? "little" : "big"),
                   is_big_endian ? "utf-16le" : "utf-16be");
    }
    if (head.size() >= kFewestOfUtf16 && head.find('\0') == head.npos) {
      throw input_error({}, "'{}' is no text in {}: none of its first {} bytes is 0", file_,
                        encoding_, head.size());
    }
  }
  if (converter_->keeps_ascii()) return;
  const size_t fault = first_fault(head);
  const bool is_utf8 = fault == head.size() || (fault > 0 && is_cut_short(head.substr(fault)));
  if (is_utf8 && !has_control_characters(head)) throw refuse("text in ASCII or UTF-8", "utf-8");
}

void TextDecoder::refuse_utf8() const {
  if (converter_ == nullptr || as_utf8_->faults() > 0 ||
      as_utf8_->characters() <= most_by_chance(encoding_) || !converter_->keeps_ascii())
    return;
  throw input_error({}, "'{}' is UTF-8 with characters beyond ASCII: wanted {}, as {} says", file_,
                    encoding_, words_ == OptionWords::program ? ".encoding" : "--encoding");
}

std::string TextDecoder::checked(std::string_view bytes, bool last) {
  const size_t at = first_fault(bytes);
  if (at < bytes.size()) {
    if (last || bytes[at] == '\0' || !is_cut_short(bytes.substr(at))) throw fault_at(bytes, at);
    rest_ = bytes.substr(at);
  }
  const std::string_view good = bytes.substr(0, at);
  offset_ += at;
  lines_ += std::ranges::count(good, '\n');
  Utf8Count count;
  count.add(good);
  characters_ += count.characters();
  return std::string(good);
}

/// The fault of these bytes at this position, numbered from the start of the file.
Error TextDecoder::fault_at(std::string_view bytes, size_t at) const {
  const size_t byte = offset_ + at;
  // The text before was valid UTF-8, which this piece alone may not show.
  if (byte > 0 && bytes[at] != '\0' && is_cut_short(bytes.substr(at))) {
    return text_error(file_,
                      {fmt::format("UTF-8 that ends within a character (byte {})", byte), "", true},
                      words_);
  }
  if (characters_ > 0 && bytes[at] != '\0') {
    return text_error(file_,
                      {fmt::format("UTF-8 with a damaged place: byte {}, in line {}, is 0x{:02x}",
                                   byte, 1 + lines_ + std::ranges::count(bytes.substr(0, at), '\n'),
                                   uint8_t(bytes[at])),
                       "", true},
                      words_);
  }
  // A piece in the middle of a file may begin anywhere: the fault is reported without a position.
  if (offset_ == 0 || mark_of(bytes.substr(0, 4)) == nullptr) {
    if (const auto fault = text_fault(bytes)) {
      Error error = text_error(file_, *fault, words_);
      if (offset_ > 0) error.note(fmt::format("counted from byte {} of the file", offset_));
      return error;
    }
  }
  return input_error({}, "'{}' is no UTF-8 text: byte {} is 0x{:02x}", file_, byte,
                     uint8_t(bytes[at]));
}

std::string TextDecoder::converted(std::string_view bytes, bool last) {
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
    const bool is_cut = errno == EINVAL;
    as_utf8_->add(bytes);
    refuse_utf8();
    throw input_error({}, "'{}' is no text in {}: byte {} is 0x{:02x}{}", file_, encoding_,
                      offset_ + done, uint8_t(input[done]),
                      is_cut ? ", the beginning of a character that does not end" : "");
  }
  if (const size_t zero = result.find('\0'); zero != result.npos)
    throw input_error({}, "'{}' is no text in {}: it has characters 0", file_, encoding_);
  as_utf8_->add(std::string_view(input).substr(0, done));
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

// SPDX-License-Identifier: Apache-2.0
// Reads and writes safetensors. A file may be malicious: every number in it is validated before
// use.
#include "runtime/files/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/half.h"

namespace graphc::core {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;
constexpr uint64_t kMaxExtent = uint64_t{1} << 48;
constexpr size_t kLongestReason = 400;
constexpr const char* kMetadata = "__metadata__";

constexpr std::pair<DType, std::string_view> kSafetensorsNames[] = {
    {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f64, "F64"}, {DType::i32, "I32"},
    {DType::i64, "I64"}, {DType::u32, "U32"},   {DType::u8, "U8"},   {DType::boolean, "BOOL"}};

std::string_view format_name(DType dtype) {
  for (const auto& [each, name] : kSafetensorsNames) {
    if (each == dtype) return name;
  }
  check_failed("dtype", __FILE__, __LINE__, fmt::format("no safetensors name of {}", int(dtype)));
}

/// Element types of the format that we do not support.
constexpr std::string_view kNotTaken[] = {
    "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2", "I8", "I16", "U16", "U64", "C64"};
/// 16-bit floats, read as f32, which represents them exactly.
constexpr std::string_view kSafetensorsHalf = "F16";

std::optional<DType> dtype_of(std::string_view name) {
  for (const auto& [dtype, each] : kSafetensorsNames) {
    if (each == name) return dtype;
  }
  return std::nullopt;
}

/// The position of an array in the bytes after the header.
struct Entry {
  std::string name;
  Type type;  ///< the type after reading
  uint64_t begin = 0, end = 0;
  bool half = false;  ///< whether it is F16 in the file

  int64_t bytes() const { return half ? type.bytes() / 2 : type.bytes(); }
};

/// Stops at a repeated key, and at an object nested too deeply. Invalid JSON is left for
/// json::parse to report.
class KeyCheck : public nlohmann::json_sax<json> {
 public:
  bool too_deep = false;
  std::optional<std::string> twice;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return enter();
  }
  bool key(std::string& key) override {
    if (!keys_.back().insert(key).second) twice = key;
    return !twice;
  }
  bool end_object() override {
    keys_.pop_back();
    return leave();
  }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool enter() {
    too_deep |= ++depth_ > 3;
    return !too_deep;
  }
  bool leave() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  std::vector<std::set<std::string>> keys_;
};

class SafetensorsReader {
 public:
  SafetensorsReader(std::string_view bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  Safetensors read() {
    const json header = parse_header();
    Safetensors result;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        result.metadata = metadata_of(value);
      } else {
        entries.push_back(entry_of(name, value));
      }
    }
    check_layout(entries);
    for (const Entry& entry : entries) {
      const auto bytes = data_.substr(entry.begin, entry.end - entry.begin);
      try {
        result.arrays.emplace(entry.name, array_of(entry, std::as_bytes(std::span(bytes))));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::input) throw;
        throw fault("array '{}': {}", printable(entry.name), error.message());
      }
    }
    return result;
  }

 private:
  static Literal array_of(const Entry& entry, std::span<const std::byte> bytes) {
    if (!entry.half) return Literal::from_bytes(entry.type, bytes);
    return Literal(std::span<const float>(floats_of_half(bytes)), entry.type.shape);
  }

  template <typename... Args>
  Error fault(fmt::format_string<Args...> format, Args&&... args) const {
    return input_error({}, "'{}' is not a valid safetensors file: {}", file_,
                       fmt::format(format, std::forward<Args>(args)...));
  }

  /// Checks the length, splits the file into header and data, and parses the header.
  json parse_header() {
    if (bytes_.size() < kLengthBytes) {
      throw fault("it has {} bytes, and {} give the header's length", bytes_.size(), kLengthBytes);
    }
    uint64_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      length |= uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    }
    if (length > kMaxHeader) {
      throw fault("its header is {} bytes long, at most {} are allowed", length, kMaxHeader);
    }
    if (length > bytes_.size() - kLengthBytes) {
      throw fault("its header is {} bytes long, the file has {} after the length: cut short?",
                  length, bytes_.size() - kLengthBytes);
    }
    const std::string_view text = bytes_.substr(kLengthBytes, length);
    data_ = bytes_.substr(kLengthBytes + length);
    if (!text.starts_with('{')) throw fault("its header does not begin with '{{'");
    return parse_json(text);
  }

  /// Parses JSON after checking that no object repeats a key and that nesting is no deeper than the
  /// format needs. A separate pass, because a callback of json::parse traverses the whole object
  /// after each of its values.
  json parse_json(std::string_view text) const {
    KeyCheck check;
    try {
      json::sax_parse(text, &check);
      if (check.too_deep) throw fault("its header is nested too deeply");
      if (check.twice) throw fault("its header has '{}' twice", printable(*check.twice));
      return json::parse(text);
    } catch (const json::exception& error) {
      throw fault("its header is not JSON: {}", printable(error.what(), kLongestReason));
    }
  }

  std::map<std::string, std::string> metadata_of(const json& value) const {
    if (!value.is_object()) throw fault("{} is not an object", kMetadata);
    std::map<std::string, std::string> metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) throw fault("{} '{}' is not a text", kMetadata, printable(key));
      metadata.emplace(key, text.get<std::string>());
    }
    return metadata;
  }

  Entry entry_of(const std::string& name, const json& value) const {
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets")) {
      throw fault("array '{}' wants exactly dtype, shape and data_offsets", printable(name));
    }
    Entry entry{.name = name, .type = type_of(name, value.at("dtype"), value.at("shape"))};
    entry.half = value.at("dtype") == kSafetensorsHalf;
    const auto offsets = numbers(name, "data_offsets", value.at("data_offsets"), data_.size());
    if (offsets.size() != 2) {
      throw fault("array '{}' has {} data_offsets, not 2", printable(name), offsets.size());
    }
    entry.begin = uint64_t(offsets[0]);
    entry.end = uint64_t(offsets[1]);
    if (entry.begin > entry.end) {
      throw fault("array '{}' ends at {}, before it begins at {}", printable(name), entry.end,
                  entry.begin);
    }
    if (entry.end - entry.begin != uint64_t(entry.bytes())) {
      throw fault("array '{}' is {}{} of {} bytes, its data_offsets span {}", printable(name),
                  to_string(entry.type), entry.half ? " as F16" : "", entry.bytes(),
                  entry.end - entry.begin);
    }
    return entry;
  }

  Type type_of(const std::string& name, const json& dtype, const json& shape) const {
    if (!dtype.is_string())
      throw fault("array '{}' has a dtype that is not a text", printable(name));
    const auto& text = dtype.get_ref<const std::string&>();
    const auto found = text == kSafetensorsHalf ? std::optional(DType::f32) : dtype_of(text);
    if (!found && std::ranges::find(kNotTaken, text) != std::end(kNotTaken)) {
      throw input_error({},
                        "'{}': array '{}' is of {}, which graphc does not have: wanted F64, F32, "
                        "F16 (read as f32), BF16, I64, I32, U32, U8 or BOOL",
                        file_, printable(name), text);
    }
    if (!found)
      throw fault("array '{}' has the unknown dtype '{}'", printable(name), printable(text));
    const auto extents = numbers(name, "shape", shape, kMaxExtent);
    try {
      return {*found, Shape(std::span(extents))};
    } catch (const Error& error) {
      throw fault("array '{}': {}", printable(name), error.message());
    }
  }

  /// A JSON array of integers in [0, most].
  std::vector<int64_t> numbers(const std::string& name, std::string_view field, const json& value,
                               uint64_t most) const {
    if (!value.is_array())
      throw fault("array '{}' has a {} that is not an array", printable(name), field);
    std::vector<int64_t> result;
    for (const json& number : value) {
      if (!number.is_number_unsigned()) {
        throw fault("array '{}' has {} in {}, not a whole number of at least 0", printable(name),
                    printable(number.dump(-1, ' ', true, json::error_handler_t::replace)), field);
      }
      if (number.get<uint64_t>() > most) {
        throw fault("array '{}' has {} in {}, more than the {} possible", printable(name),
                    number.get<uint64_t>(), field, most);
      }
      result.push_back(int64_t(number.get<uint64_t>()));
    }
    return result;
  }

  /// In order of offset, the arrays must cover the data without gaps or overlaps.
  void check_layout(std::vector<Entry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    uint64_t end = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != end) {
        throw fault("array '{}' begins at byte {}, the one before ends at {}",
                    printable(entry.name), entry.begin, end);
      }
      end = entry.end;
    }
    if (end != data_.size()) {
      throw fault("its arrays end at byte {} of {}", end, data_.size());
    }
  }

  std::string_view bytes_, file_;
  std::string_view data_;  ///< the bytes after the header
};

/// The text as a quoted JSON string.
std::string quoted(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    throw input_error({}, "a name or a metadata text for a safetensors file is not UTF-8");
  }
}

/// Assembled as text, not dumped from a json object: the destructor of a json object allocates
/// memory and ends the process if there is none (nlohmann-json 3.11).
std::string header_of(const Safetensors& content) {
  std::vector<std::string> entries;
  if (!content.metadata.empty()) {
    std::vector<std::string> texts;
    for (const auto& [key, value] : content.metadata)
      texts.push_back(quoted(key) + ':' + quoted(value));
    entries.push_back(fmt::format("{}:{{{}}}", quoted(kMetadata), fmt::join(texts, ",")));
  }
  int64_t offset = 0;
  for (const auto& [name, literal] : content.arrays) {
    if (name == kMetadata) throw input_error({}, "an array cannot be named '{}'", kMetadata);
    const int64_t end = offset + literal.type().bytes();
    entries.push_back(fmt::format(R"({}:{{"data_offsets":[{},{}],"dtype":"{}","shape":[{}]}})",
                                  quoted(name), offset, end, format_name(literal.dtype()),
                                  fmt::join(literal.shape(), ",")));
    offset = end;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(entries, ","));
  // Pads with spaces to a multiple of eight, so that the data is aligned.
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxHeader) {
    throw input_error({}, "a safetensors header of {} bytes is too long: at most {} are allowed",
                      text.size(), kMaxHeader);
  }
  return text;
}

}  // namespace

Safetensors parse_safetensors(std::string_view bytes, std::string_view file) {
  return SafetensorsReader(bytes, file).read();
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  refuse_foreign(content, path, Wanted::arrays);
  return parse_safetensors(content, path.string());
}

void write_safetensors(const std::filesystem::path& path, const Safetensors& content) {
  const std::string header = header_of(content);
  std::array<std::byte, kLengthBytes> length;
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = std::byte(header.size() >> (8 * i) & 0xff);
  AtomicFile file(path);
  file.write(length);
  file.write(header);
  for (const auto& [name, literal] : content.arrays) file.write(literal.bytes());
  file.commit();
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Reads and writes .npy. The header is a Python dictionary; we parse the subset that NumPy writes.
#include "runtime/files/npy.h"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/utf8.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/half.h"

namespace graphc::core {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;

constexpr std::pair<DType, std::string_view> kNpyNames[] = {
    {DType::f32, "<f4"}, {DType::f64, "<f8"}, {DType::i32, "<i4"},    {DType::i64, "<i8"},
    {DType::u32, "<u4"}, {DType::u8, "|u1"},  {DType::boolean, "|b1"}};
/// 16-bit floats, read as f32, which represents them exactly.
constexpr std::string_view kNpyHalf = "<f2";

/// A cursor over the header's text; each take_ function advances only if it succeeds.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    skip_spaces();
    if (text_.empty() || text_[0] != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view wanted) {
    skip_spaces();
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }
  /// A Python string without escapes, in single or double quotes.
  std::optional<std::string_view> take_string() {
    skip_spaces();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view content = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return content;
  }
  std::optional<int64_t> take_number() {
    skip_spaces();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(size_t(end - text_.data()));
    return value;
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  std::string_view text_;
};

class NpyReader {
 public:
  NpyReader(std::string_view bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  Literal read() {
    const Type type = parse_header(take_header());
    const int64_t wanted = half_ ? type.bytes() / 2 : type.bytes();
    if (data_.size() != size_t(wanted)) {
      throw fault("{}{} is {} bytes, {} follow the header", to_string(type), half_ ? " as <f2" : "",
                  wanted, data_.size());
    }
    try {
      if (half_) {
        const std::vector<float> floats = floats_of_half(std::as_bytes(std::span(data_)));
        return Literal(std::span<const float>(floats), type.shape);
      }
      return Literal::from_bytes(type, std::as_bytes(std::span(data_)));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      throw fault("{}", error.message());
    }
  }

 private:
  template <typename... Args>
  Error fault(fmt::format_string<Args...> format, Args&&... args) const {
    return input_error({}, "'{}' is not a .npy file that can be read: {}", file_,
                       fmt::format(format, std::forward<Args>(args)...));
  }

  /// Checks magic, version and length, and splits the file into header and data.
  std::string_view take_header() {
    if (!bytes_.starts_with(kMagic)) throw fault("it does not begin with \\x93NUMPY");
    bytes_.remove_prefix(kMagic.size());
    if (bytes_.size() < 2) throw fault("it is cut short in the version");
    const int version = static_cast<unsigned char>(bytes_[0]);
    const int minor = static_cast<unsigned char>(bytes_[1]);
    if (version < 1 || version > 3 || minor != 0) {
      throw fault("its version is {}.{}, not 1.0, 2.0 or 3.0", version, minor);
    }
    bytes_.remove_prefix(2);
    const size_t length_bytes = version == 1 ? 2 : 4;
    if (bytes_.size() < length_bytes) throw fault("it is cut short in the header's length");
    size_t length = 0;
    for (size_t i = 0; i < length_bytes; ++i) {
      length |= size_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    }
    bytes_.remove_prefix(length_bytes);
    if (length > bytes_.size()) {
      throw fault("its header is {} bytes long, {} follow: cut short?", length, bytes_.size());
    }
    data_ = bytes_.substr(length);
    return bytes_.substr(0, length);
  }

  Type parse_header(std::string_view text) {
    Cursor cursor(text);
    std::optional<DType> dtype;
    std::optional<Shape> shape;
    std::optional<bool> fortran;
    const auto expect = [&](bool holds) {
      if (!holds) throw fault("its header is not a dictionary of descr, fortran_order and shape");
    };
    expect(cursor.take('{'));
    while (!cursor.take('}')) {
      const auto key = cursor.take_string();
      expect(key && cursor.take(':'));
      if (*key == "descr" && !dtype) {
        dtype = parse_dtype(cursor);
      } else if (*key == "fortran_order" && !fortran) {
        fortran = cursor.take_word("True");
        expect(*fortran || cursor.take_word("False"));
      } else {
        expect(*key == "shape" && !shape);
        shape = parse_shape(cursor);
      }
      if (!cursor.take(',')) {
        expect(cursor.take('}'));
        break;
      }
    }
    expect(cursor.at_end() && dtype && fortran && shape);
    if (*fortran) throw fault("it is in Fortran order, and only C order is read");
    return {*dtype, *shape};
  }

  DType parse_dtype(Cursor& cursor) {
    const auto name = cursor.take_string();
    if (!name) throw fault("its descr is not a text: records are not read");
    for (const auto& [dtype, each] : kNpyNames) {
      if (*name == each) return dtype;
    }
    half_ = *name == kNpyHalf;
    if (half_) return DType::f32;
    if (name->starts_with('>')) throw fault("its elements '{}' are big endian", printable(*name));
    throw fault("its element type '{}' is none of <f4 <f8 <f2 <i4 <i8 <u4 |u1 |b1",
                printable(*name));
  }

  Shape parse_shape(Cursor& cursor) {
    std::vector<int64_t> extents;
    bool holds = cursor.take('(');
    while (holds && !cursor.take(')')) {
      const auto extent = cursor.take_number();
      holds = extent.has_value();
      if (!holds) break;
      extents.push_back(*extent);
      if (!cursor.take(',')) {
        // A tuple with one element needs its comma.
        holds = extents.size() > 1 && cursor.take(')');
        break;
      }
    }
    if (!holds) throw fault("its shape is not a tuple of whole numbers");
    try {
      return Shape(std::span<const int64_t>(extents));
    } catch (const Error& error) {
      throw fault("{}", error.message());
    }
  }

  std::string_view bytes_, file_;
  std::string_view data_;  ///< the bytes after the header
  bool half_ = false;      ///< whether the elements are <f2
};

std::string shape_tuple(const Shape& shape) {
  if (shape.rank() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape.begin(), shape.end(), ", "));
}

}  // namespace

Literal parse_npy(std::string_view bytes, std::string_view file) {
  return NpyReader(bytes, file).read();
}

Literal read_npy(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  refuse_foreign(content, path, Wanted::array);
  return parse_npy(content, path.string());
}

std::string npy_bytes(const Literal& literal) {
  std::string_view name;
  for (const auto& [dtype, each] : kNpyNames) {
    if (dtype == literal.dtype()) name = each;
  }
  if (name.empty()) {
    throw input_error({}, ".npy has no {}: convert the array to f32 first",
                      name_of(literal.dtype()));
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", name,
                                   shape_tuple(literal.shape()));
  const size_t before = kMagic.size() + 4;
  const size_t unpadded = before + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';

  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', char(header.size() & 0xff), char(header.size() >> 8)};
  bytes += header;
  const auto data = literal.bytes();
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

void write_npy(const std::filesystem::path& path, const Literal& literal) {
  write_file_atomically(path, npy_bytes(literal));
}

}  // namespace graphc::core

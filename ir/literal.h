// SPDX-License-Identifier: Apache-2.0
// Host arrays: the constants of a graph, and the arguments and results of the reference evaluator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/elements.h"
#include "ir/stored.h"
#include "ir/type.h"

namespace graphc::core {

/// Alignment, in bytes, of every host buffer: one cache line, one 512-bit vector.
inline constexpr size_t kBufferAlignment = 64;

/// Allocates a 64-byte aligned buffer of zeros; at least one byte, so the pointer is never null.
/// Throws ErrorKind::resource if there is not enough memory.
std::shared_ptr<std::byte> allocate_buffer(int64_t bytes);

/// A type and its elements, row-major. Copy-on-write: copies share one buffer until one of them is
/// written.
class Literal {
 public:
  /// f32[0].
  Literal() : Literal(Type{DType::f32, {0}}) {}
  /// All zeros.
  explicit Literal(const Type& type);
  static Literal zeros(const Type& type) { return Literal(type); }
  /// Every element is `value`, converted as by converted().
  static Literal filled(const Type& type, double value);

  /// The elements in row-major order; throws ErrorKind::input if their number does not match the
  /// shape.
  Literal(std::span<const float> elements, const Shape& shape);
  Literal(std::span<const double> elements, const Shape& shape);
  Literal(std::span<const int32_t> elements, const Shape& shape);
  Literal(std::span<const int64_t> elements, const Shape& shape);
  Literal(std::span<const uint32_t> elements, const Shape& shape);

  /// Scalars.
  static Literal of(float value) { return Literal(std::span<const float>(&value, 1), Shape{}); }
  static Literal of(double value) { return Literal(std::span<const double>(&value, 1), Shape{}); }
  static Literal of(int32_t value) { return Literal(std::span<const int32_t>(&value, 1), Shape{}); }
  static Literal of(int64_t value) { return Literal(std::span<const int64_t>(&value, 1), Shape{}); }

  /// Takes the raw elements in `bytes`. Throws ErrorKind::input for a length other than the type's
  /// and for a bool that is neither 0 nor 1.
  static Literal from_bytes(const Type& type, std::span<const std::byte> bytes,
                            Where where = Where::here());
  /// Shares `buffer`, which must hold at least type.bytes() bytes at a 64-byte aligned address.
  static Literal from_buffer(const Type& type, std::shared_ptr<std::byte> buffer);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t elements() const { return type_.shape.elements(); }

  Elements<const std::byte> bytes() const {
    return {buffer_, buffer_.get(), size_t(type_.bytes())};
  }
  std::span<std::byte> mutable_bytes() &;
  const std::shared_ptr<std::byte>& buffer() const { return buffer_; }

  /// The elements as `T`, which is Stored<dtype()>. Throws ErrorKind::input, at the caller's line,
  /// for another type; `converted(f64)` has the elements as doubles.
  template <typename T>
  Elements<const T> data(Where where = Where::here()) const {
    check_stored_as(is_stored_as<T>(type_.dtype), where);
    return {buffer_, reinterpret_cast<const T*>(buffer_.get()), size_t(elements())};
  }
  /// Writable elements; first copies the buffer if it is shared, so that nothing else changes.
  /// Valid as long as the literal lives and is not copied.
  template <typename T>
  std::span<T> mutable_data(Where where = Where::here()) & {
    check_stored_as(is_stored_as<T>(type_.dtype), where);
    return {reinterpret_cast<T*>(mutable_bytes().data()), size_t(elements())};
  }

  /// The only element, as a number. Throws ErrorKind::input if there is not exactly one element.
  double scalar() const;
  /// The elements in row-major order, converted as by converted() if they have another type; throws
  /// ErrorKind::input for one that `T` cannot represent.
  template <Number T = float>
  std::vector<T> to_vector() const {
    const Literal all = converted(dtype_of<T>());
    const auto elements = all.data<Stored<dtype_of<T>()>>();
    if constexpr (std::is_same_v<T, unsigned long> || std::is_same_v<T, unsigned long long>)
      check_not_negative(elements);
    return std::vector<T>(elements.begin(), elements.end());
  }

  /// Element `index` in row-major order. An i64 beyond 2^53 is rounded.
  double element(int64_t index, Where where = Where::here()) const;

  /// The same elements as another type. Floats round to nearest even, once; a float becomes an
  /// integer by truncation; any nonzero number becomes true. Throws ErrorKind::input naming the
  /// element if the type cannot represent it: an integer out of range (NaN is never in range), or a
  /// finite number that would round to infinity.
  Literal converted(DType dtype) const;
  /// The same elements in another shape with as many elements; shares the buffer.
  Literal reshaped(const Shape& shape, Where where = Where::here()) const;

  /// Nested brackets, one pair per axis: "[[1, 2.5], [nan, -inf]]"; a scalar has none. Each float
  /// is the shortest text that reads back as the same number.
  std::string to_text() const;

  /// Same type and same bits: NaN equals itself, and 0 differs from -0.
  bool operator==(const Literal& other) const;

 private:
  Literal(const Type& type, std::shared_ptr<std::byte> buffer);
  void check_stored_as(bool same, Where where) const;
  /// Throws ErrorKind::input for a negative element, which unsigned types cannot represent.
  static void check_not_negative(std::span<const int64_t> elements);

  Type type_;
  std::shared_ptr<std::byte> buffer_;
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Types: an element type and a static, logical, row-major shape. A type does not determine how a
// value is stored: plans do (codegen/step/plan.h).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/error.h"

namespace graphc::core {

/// Element types. More may be added. The text form of each is its name here (`boolean` prints
/// `bool`).
enum class DType : uint8_t { f32, bf16, f64, i32, i64, u32, u8, boolean };

std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);
/// Bytes of one stored element.
int64_t size_of(DType dtype);
bool is_floating(DType dtype);
/// Whether it is i32, i64, u32 or u8; bool is not an integer.
bool is_integer(DType dtype);

/// Up to eight static extents, outermost first. Zero extents are allowed; negative ones are not.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  /// Throws ErrorKind::input, at the line that wrote it, for more than eight extents, a negative
  /// extent, or more than 2^48 elements.
  Shape(std::initializer_list<int64_t> extents, Where where = Where::here())
      : Shape(std::span(extents.begin(), extents.size()), where) {}
  explicit Shape(std::span<const int64_t> extents, Where where = {});

  int rank() const { return rank_; }
  /// Extent of `axis`; a negative axis counts from the end.
  int64_t operator[](int axis) const { return extents_[axis < 0 ? axis + rank_ : axis]; }
  /// Number of elements; 1 for a scalar. This number, and the bytes of any element type, fit an
  /// int64.
  int64_t elements() const;
  std::span<const int64_t> extents() const { return {extents_.data(), size_t(rank_)}; }
  const int64_t* begin() const { return extents_.data(); }
  const int64_t* end() const { return extents_.data() + rank_; }
  /// Row-major strides in elements.
  std::array<int64_t, kMaxRank> strides() const;

  /// This shape with `axis` set to `extent`, with `axis` removed, or with an extent inserted before
  /// it. Throws as the constructor does.
  Shape with(int axis, int64_t extent) const;
  Shape without(int axis) const;
  Shape insert(int axis, int64_t extent) const;

  bool operator==(const Shape& other) const;
  /// Whether its first extents are those of `other`.
  bool begins_with(const Shape& other) const;

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// NumPy's broadcasting rule; empty if the shapes do not match. Throws ErrorKind::input if the
/// result is too large for a shape.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// "20,650": the extents as written between a type's brackets.
std::string to_string(const Shape& shape);

/// Element type and shape of a value.
struct Type {
  DType dtype = DType::f32;
  Shape shape;

  int64_t bytes() const { return shape.elements() * size_of(dtype); }
  bool operator==(const Type& other) const = default;
};

/// "f32[20,650]".
std::string to_string(const Type& type);

}  // namespace graphc::core

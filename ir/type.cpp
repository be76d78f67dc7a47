// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include <algorithm>

#include "ir/called.h"

namespace graphc::core {
namespace {

struct DTypeFacts {
  std::string_view name;
  int64_t size;
};

// In the order of the enumeration.
constexpr DTypeFacts facts[] = {{"f32", 4}, {"bf16", 2}, {"f64", 8}, {"i32", 4},
                                {"i64", 8}, {"u32", 4},  {"u8", 1},  {"bool", 1}};
constexpr int64_t kMaxElements = int64_t{1} << 48;

}  // namespace

std::string_view name_of(DType dtype) { return facts[size_t(dtype)].name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(facts); ++i) {
    if (facts[i].name == name) return DType(i);
  }
  return std::nullopt;
}

int64_t size_of(DType dtype) { return facts[size_t(dtype)].size; }

bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f64;
}

bool is_integer(DType dtype) { return !is_floating(dtype) && dtype != DType::boolean; }

Shape::Shape(std::span<const int64_t> extents, Where where) {
  where = Called::place(where);
  if (extents.size() > size_t(kMaxRank)) {
    throw input_error(where, "a shape has at most {} extents: found {}", kMaxRank, extents.size());
  }
  int64_t elements = 1;
  for (int64_t extent : extents) {
    if (extent < 0) throw input_error(where, "an extent is at least 0: found {}", extent);
    if (extent > 0 && elements > kMaxElements / extent) {
      throw input_error(where, "a shape has at most 2^48 elements: found [{}]",
                        fmt::join(extents.begin(), extents.end(), ","));
    }
    elements *= std::max<int64_t>(extent, 1);
    extents_[rank_++] = extent;
  }
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t extent : extents()) product *= extent;
  return product;
}

std::array<int64_t, Shape::kMaxRank> Shape::strides() const {
  std::array<int64_t, kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= extents_[axis];
  }
  return strides;
}

Shape Shape::with(int axis, int64_t extent) const {
  std::array<int64_t, kMaxRank> extents = extents_;
  extents[size_t(axis < 0 ? axis + rank_ : axis)] = extent;
  return Shape(std::span<const int64_t>(extents.data(), size_t(rank_)));
}

Shape Shape::without(int axis) const {
  if (axis < 0) axis += rank_;
  Shape result;
  for (int i = 0; i < rank_; ++i) {
    if (i != axis) result.extents_[result.rank_++] = extents_[i];
  }
  return result;
}

Shape Shape::insert(int axis, int64_t extent) const {
  std::array<int64_t, kMaxRank + 1> extents{};
  std::copy(begin(), begin() + axis, extents.begin());
  extents[axis] = extent;
  std::copy(begin() + axis, end(), extents.begin() + axis + 1);
  return Shape(std::span<const int64_t>(extents.data(), size_t(rank_ + 1)));
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

bool Shape::begins_with(const Shape& other) const {
  return other.rank() <= rank() && std::equal(other.begin(), other.end(), begin());
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int i = 1; i <= shorter.rank(); ++i) {
    const int64_t x = longer[-i], y = shorter[-i];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result = result.with(-i, x == 1 ? y : x);
  }
  return result;
}

std::string to_string(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.begin(), shape.end(), ","));
}

std::string to_string(const Type& type) {
  return fmt::format("{}[{}]", name_of(type.dtype), to_string(type.shape));
}

}  // namespace graphc::core

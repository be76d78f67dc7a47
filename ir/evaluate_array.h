// SPDX-License-Identifier: Apache-2.0
// The arrays of the evaluator: doubles for floating-point values, int64 for integers and bool,
// whatever their type; and rounding to the type.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ir/evaluate.h"

namespace graphc::core::evaluation {

/// A type and its elements, row-major, eight bytes each. Copies and views share the elements; only
/// the creator of the array writes them, before passing it on.
class Array {
 public:
  Array() = default;
  /// Elements are not initialised.
  explicit Array(const Type& type);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t elements() const { return type_.shape.elements(); }
  bool floating() const { return is_floating(type_.dtype); }

  const double* floats() const { return reinterpret_cast<const double*>(elements_.get()); }
  const int64_t* integers() const { return reinterpret_cast<const int64_t*>(elements_.get()); }
  double* floats() { return reinterpret_cast<double*>(elements_.get()); }
  int64_t* integers() { return reinterpret_cast<int64_t*>(elements_.get()); }
  /// The raw elements, for data movement.
  const std::byte* bytes() const { return elements_.get(); }
  std::byte* bytes() { return elements_.get(); }

  /// The elements from `offset` on, as another type of the same representation.
  Array view(const Type& type, int64_t offset = 0) const;

  /// For each element, the origin that ir/not_finite.cpp assigned if it is not finite, else 0; null
  /// if all are 0 or origins are not tracked.
  std::shared_ptr<const std::vector<int>> origins;

 private:
  Type type_;
  std::shared_ptr<std::byte> elements_;
};

/// Bytes of one element of an Array.
inline constexpr int64_t kElementBytes = 8;

/// Rounds each element to `dtype` according to `precision`; f64 as a type or a precision keeps all
/// bits.
void round_floats(DType dtype, Precision precision, double* elements, int64_t count);
/// Wraps each element to the width of `dtype`; a bool becomes 0 or 1.
void wrap_integers(DType dtype, int64_t* elements, int64_t count);
/// Truncates toward zero; a number out of range becomes the nearest int64, NaN becomes 0.
int64_t truncated(double value);

/// The literal as an array of `type`, whose shape it has. The literal must have the type or the
/// type that it is stored with (stored_type()). `where` and `what` are for errors.
Array from_literal(const Literal& literal, const Type& type, Precision precision, Where where,
                   const std::string& what);
/// The array as a literal of the type that it is stored with.
Literal to_literal(const Array& array, Precision precision);

}  // namespace graphc::core::evaluation

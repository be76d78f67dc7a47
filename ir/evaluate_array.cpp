// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate_array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace graphc::core::evaluation {
namespace {

std::shared_ptr<std::byte> allocate(int64_t elements) {
  const size_t bytes = size_t(std::max<int64_t>(elements, 1)) * kElementBytes;
  auto* memory = static_cast<std::byte*>(std::malloc(bytes));
  if (memory == nullptr) throw resource_error("no memory for an array of {} bytes", bytes);
  return {memory, [](std::byte* pointer) { std::free(pointer); }};
}

/// The nearest bf16, ties to even, rounded once: the intermediate float has its last bit set if
/// anything was dropped (round to odd).
double rounded_to_bf16(double value) {
  float nearest = float(value);
  if (std::isfinite(nearest) && double(nearest) != value) {
    if (std::fabs(double(nearest)) > std::fabs(value)) nearest = std::nextafter(nearest, 0.0f);
    nearest = std::bit_cast<float>(std::bit_cast<uint32_t>(nearest) | 1);
  }
  return double(float(BFloat16(nearest)));
}

}  // namespace

Array::Array(const Type& type) : type_(type), elements_(allocate(type.shape.elements())) {}

Array Array::view(const Type& type, int64_t offset) const {
  GRAPHC_CHECK(
      is_floating(type.dtype) == floating() && offset + type.shape.elements() <= elements(),
      "{} from element {} of {}", to_string(type), offset, to_string(type_));
  Array result;
  result.type_ = type;
  result.elements_ = {elements_, elements_.get() + offset * kElementBytes};
  if (origins != nullptr) {
    const auto first = origins->begin() + offset;
    std::vector<int> part(first, first + type.shape.elements());
    if (std::ranges::any_of(part, [](int origin) { return origin != 0; }))
      result.origins = std::make_shared<const std::vector<int>>(std::move(part));
  }
  return result;
}

void round_floats(DType dtype, Precision precision, double* elements, int64_t count) {
  if (precision == Precision::f64 || dtype == DType::f64) return;
  if (dtype == DType::bf16) {
    for (int64_t i = 0; i < count; ++i) elements[i] = rounded_to_bf16(elements[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) elements[i] = double(float(elements[i]));
  }
}

void wrap_integers(DType dtype, int64_t* elements, int64_t count) {
  visit_dtype(dtype, [&]<DType wanted>() {
    if constexpr (wanted == DType::boolean) {
      for (int64_t i = 0; i < count; ++i) elements[i] = elements[i] != 0;
    } else if constexpr (wanted != DType::i64 && std::is_integral_v<Stored<wanted>>) {
      for (int64_t i = 0; i < count; ++i) elements[i] = Stored<wanted>(elements[i]);
    }
  });
}

int64_t truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return int64_t(value);
}

Array from_literal(const Literal& literal, const Type& type, Precision precision, Where where,
                   const std::string& what) {
  if (literal.type() != type && literal.type() != stored_type(type, precision)) {
    throw input_error(where, "{} is {}: found {}", what, to_string(type),
                      to_string(literal.type()));
  }
  Array array(type);
  visit_dtype(literal.dtype(), [&]<DType stored>() {
    const auto source = literal.data<Stored<stored>>();
    if constexpr (stored == DType::f32 || stored == DType::bf16 || stored == DType::f64) {
      for (size_t i = 0; i < source.size(); ++i) array.floats()[i] = double(source[i]);
    } else {
      for (size_t i = 0; i < source.size(); ++i) array.integers()[i] = int64_t(source[i]);
    }
  });
  return array;
}

Literal to_literal(const Array& array, Precision precision) {
  const Type type = stored_type(array.type(), precision);
  Literal literal(type);
  visit_dtype(type.dtype, [&]<DType stored>() {
    const auto target = literal.mutable_data<Stored<stored>>();
    if constexpr (stored == DType::bf16) {
      for (size_t i = 0; i < target.size(); ++i) target[i] = BFloat16(float(array.floats()[i]));
    } else if constexpr (stored == DType::f32 || stored == DType::f64) {
      for (size_t i = 0; i < target.size(); ++i) target[i] = Stored<stored>(array.floats()[i]);
    } else {
      for (size_t i = 0; i < target.size(); ++i) target[i] = Stored<stored>(array.integers()[i]);
    }
  });
  return literal;
}

}  // namespace graphc::core::evaluation

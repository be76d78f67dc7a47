// SPDX-License-Identifier: Apache-2.0
// Elements of buffers, each looked for in its buffer, and as the evaluator holds them.
#pragma once

#include <cstring>
#include <type_traits>

#include "ir/error.h"
#include "ir/evaluate_array.h"
#include "ir/stored.h"

namespace graphc::core::testing {

/// A place in a buffer, which knows where the buffer ends.
struct CheckedPlace {
  char* base = nullptr;  ///< of the buffer
  int64_t bytes = 0;     ///< of the buffer
  int64_t offset = 0;

  CheckedPlace moved(int64_t by) const { return {base, bytes, offset + by}; }
  /// The address of `size` bytes. Throws ErrorKind::internal if they are not all in the buffer.
  char* at(int64_t size) const {
    GRAPHC_CHECK(offset >= 0 && offset + size <= bytes, "{} bytes at {} of a buffer of {}", size,
                 offset, bytes);
    return base + offset;
  }
};

/// One element, as a double or an int64 (ir/evaluate_array.h).
union Element {
  double real;
  int64_t whole;
};
static_assert(sizeof(Element) == evaluation::kElementBytes);

inline Element read_element(DType dtype, const CheckedPlace& place) {
  return visit_dtype(dtype, [&]<DType stored>() {
    Stored<stored> value;
    std::memcpy(&value, place.at(sizeof value), sizeof value);
    if constexpr (stored == DType::boolean) {
      return Element{.whole = value != 0};
    } else if constexpr (std::is_integral_v<Stored<stored>>) {
      return Element{.whole = int64_t(value)};
    } else {
      return Element{.real = double(value)};
    }
  });
}

inline void write_element(DType dtype, Element element, const CheckedPlace& place) {
  visit_dtype(dtype, [&]<DType stored>() {
    Stored<stored> value;
    if constexpr (stored == DType::bf16) {
      value = BFloat16(float(element.real));
    } else if constexpr (std::is_integral_v<Stored<stored>>) {
      value = Stored<stored>(element.whole);
    } else {
      value = Stored<stored>(element.real);
    }
    std::memcpy(place.at(sizeof value), &value, sizeof value);
  });
}

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Host arrays: allocation, conversion between element types, and text.
#include "ir/literal.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace graphc::core {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

/// Rounds to odd: the float next to `value` towards zero, with its last bit set if anything was
/// dropped. Rounding that to a type with at least two fewer bits equals rounding `value` itself.
float rounded_to_odd(long double value) {
  float result = float(value);
  if (static_cast<long double>(result) == value || value != value) return result;
  if (std::fabs(static_cast<long double>(result)) > std::fabs(value)) {
    result = std::nextafter(result, 0.0f);
  }
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) | 1);
}

/// Whether the truncated `value` is in T's range.
template <typename T>
bool fits(long double value) {
  return std::trunc(value) >= static_cast<long double>(std::numeric_limits<T>::min()) &&
         std::trunc(value) <= static_cast<long double>(std::numeric_limits<T>::max());
}

[[noreturn]] void refuse(long double value, int64_t index, DType to) {
  // An integer is shown with all its digits, which explain why it does not fit.
  const bool whole = std::trunc(value) == value && std::fabs(value) < 0x1p64L;
  throw input_error({}, "element {} is {}, which {} cannot hold", index,
                    whole ? fmt::format("{:.0f}", value) : fmt::format("{}", double(value)),
                    name_of(to));
}

/// Converts one element. long double represents every stored value exactly.
template <DType to>
Stored<to> convert(long double value, int64_t index) {
  if constexpr (to == DType::boolean) {
    return value != 0 ? 1 : 0;
  } else if constexpr (to == DType::bf16 || to == DType::f32 || to == DType::f64) {
    const Stored<to> rounded = [&] {
      if constexpr (to == DType::bf16)
        return BFloat16(rounded_to_odd(value));
      else
        return Stored<to>(value);
    }();
    const auto is_infinite = [](auto number) { return std::isinf(number); };
    if (is_infinite(static_cast<long double>(rounded)) && !is_infinite(value))
      refuse(value, index, to);
    return rounded;
  } else {
    if (!fits<Stored<to>>(value)) refuse(value, index, to);
    return Stored<to>(value);
  }
}

void append_element(std::string& text, const Literal& literal, int64_t index) {
  visit_dtype(literal.dtype(), [&]<DType dtype>() {
    const auto value = literal.data<Stored<dtype>>()[size_t(index)];
    if constexpr (dtype == DType::boolean) {
      text += value ? "true" : "false";
    } else if constexpr (dtype == DType::bf16) {
      fmt::format_to(std::back_inserter(text), "{}", float(value));
    } else {
      fmt::format_to(std::back_inserter(text), "{}", value);
    }
  });
}

void append_axis(std::string& text, const Literal& literal, int axis, int64_t first) {
  if (axis == literal.shape().rank()) {
    append_element(text, literal, first);
    return;
  }
  text += '[';
  const int64_t stride = literal.shape().strides()[size_t(axis)];
  for (int64_t i = 0; i < literal.shape()[axis]; ++i) {
    if (i > 0) text += ", ";
    append_axis(text, literal, axis + 1, first + i * stride);
  }
  text += ']';
}

template <typename T>
void copy_elements(Literal& to, std::span<const T> elements) {
  if (to.elements() != int64_t(elements.size())) {
    throw input_error({}, "{} has {} elements: found {}", to_string(to.type()), to.elements(),
                      elements.size());
  }
  std::copy(elements.begin(), elements.end(), to.mutable_data<T>().begin());
}

/// Memory aligned to huge pages: a hint, without which it is only slower. The kernel zeroes pages
/// at first touch; writing zeros as well would take as long again.
std::shared_ptr<std::byte> map_huge_pages(size_t bytes) {
  const size_t mapped = bytes + kHugePage;
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw resource_error("no memory for a buffer of {} bytes", bytes);
  std::byte* const first =
      static_cast<std::byte*>(memory) + (-reinterpret_cast<uintptr_t>(memory) & (kHugePage - 1));
  madvise(first, bytes, MADV_HUGEPAGE);
  return {first, [memory, mapped](std::byte*) { munmap(memory, mapped); }};
}

}  // namespace

std::shared_ptr<std::byte> allocate_buffer(int64_t bytes) {
  GRAPHC_CHECK(bytes >= 0, "a buffer of {} bytes", bytes);
  const size_t rounded =
      (std::max<size_t>(size_t(bytes), 1) + kBufferAlignment - 1) & ~(kBufferAlignment - 1);
  if (rounded >= 2 * kHugePage) return map_huge_pages(rounded);
  void* memory = nullptr;
  if (posix_memalign(&memory, kBufferAlignment, rounded) != 0)
    throw resource_error("no memory for a buffer of {} bytes", bytes);
  std::memset(memory, 0, rounded);
  return {static_cast<std::byte*>(memory), [](std::byte* buffer) { std::free(buffer); }};
}

Literal::Literal(const Type& type, std::shared_ptr<std::byte> buffer)
    : type_(type), buffer_(std::move(buffer)) {}

Literal::Literal(const Type& type) : Literal(type, allocate_buffer(type.bytes())) {}

Literal::Literal(std::span<const float> elements, const Shape& shape)
    : Literal(Type{DType::f32, shape}) {
  copy_elements(*this, elements);
}
Literal::Literal(std::span<const double> elements, const Shape& shape)
    : Literal(Type{DType::f64, shape}) {
  copy_elements(*this, elements);
}
Literal::Literal(std::span<const int32_t> elements, const Shape& shape)
    : Literal(Type{DType::i32, shape}) {
  copy_elements(*this, elements);
}
Literal::Literal(std::span<const int64_t> elements, const Shape& shape)
    : Literal(Type{DType::i64, shape}) {
  copy_elements(*this, elements);
}
Literal::Literal(std::span<const uint32_t> elements, const Shape& shape)
    : Literal(Type{DType::u32, shape}) {
  copy_elements(*this, elements);
}

Literal Literal::filled(const Type& type, double value) {
  Literal result(type);
  visit_dtype(type.dtype, [&]<DType dtype>() {
    const auto elements = result.mutable_data<Stored<dtype>>();
    if (!elements.empty()) std::fill(elements.begin(), elements.end(), convert<dtype>(value, 0));
  });
  return result;
}

Literal Literal::from_bytes(const Type& type, std::span<const std::byte> bytes, Where where) {
  if (int64_t(bytes.size()) != type.bytes()) {
    throw input_error(where, "Literal::from_bytes: {} is {} bytes: found {}", to_string(type),
                      type.bytes(), bytes.size());
  }
  Literal result(type);
  if (!bytes.empty()) std::memcpy(result.buffer_.get(), bytes.data(), bytes.size());
  if (type.dtype == DType::boolean) {
    for (int64_t i = 0; i < result.elements(); ++i) {
      const uint8_t value = result.data<uint8_t>()[size_t(i)];
      if (value > 1) throw input_error(where, "a bool is 0 or 1: element {} is {}", i, value);
    }
  }
  return result;
}

Literal Literal::from_buffer(const Type& type, std::shared_ptr<std::byte> buffer) {
  GRAPHC_CHECK(reinterpret_cast<uintptr_t>(buffer.get()) % kBufferAlignment == 0,
               "a literal's buffer is aligned to {} bytes", kBufferAlignment);
  return Literal(type, std::move(buffer));
}

std::span<std::byte> Literal::mutable_bytes() & {
  if (buffer_.use_count() != 1) {
    auto copy = allocate_buffer(type_.bytes());
    std::memcpy(copy.get(), buffer_.get(), size_t(type_.bytes()));
    buffer_ = std::move(copy);
  }
  return {buffer_.get(), size_t(type_.bytes())};
}

std::string_view stored_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::bf16:
      return "BFloat16";
    case DType::f64:
      return "double";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::u32:
      return "uint32_t";
    case DType::u8:
    case DType::boolean:
      break;
  }
  return "uint8_t";
}

void Literal::check_stored_as(bool same, Where where) const {
  if (same) return;
  throw input_error(where,
                    "{} is read as another type: wanted data<{}>(), or converted() before it",
                    to_string(type_), stored_name(type_.dtype));
}

void Literal::check_not_negative(std::span<const int64_t> elements) {
  const auto negative = std::ranges::find_if(elements, [](int64_t x) { return x < 0; });
  if (negative == elements.end()) return;
  throw input_error({}, "element {} is {}, which a type without a sign cannot hold",
                    negative - elements.begin(), *negative);
}

double Literal::scalar() const {
  if (elements() == 1) return element(0);
  throw input_error({}, "scalar() needs exactly one element: found {}", to_string(type_));
}

double Literal::element(int64_t index, Where where) const {
  if (index < 0 || index >= elements())
    throw input_error(where, "there is no element {} of {}", index, to_string(type_));
  return visit_dtype(type_.dtype,
                     [&]<DType dtype>() { return double(data<Stored<dtype>>()[size_t(index)]); });
}

Literal Literal::converted(DType dtype) const {
  if (dtype == type_.dtype) return *this;
  Literal result(Type{dtype, type_.shape});
  visit_dtype(type_.dtype, [&]<DType from>() {
    visit_dtype(dtype, [&]<DType to>() {
      const auto source = data<Stored<from>>();
      const auto target = result.mutable_data<Stored<to>>();
      for (size_t i = 0; i < source.size(); ++i) {
        if constexpr (from == DType::bf16) {
          target[i] = convert<to>(float(source[i]), int64_t(i));
        } else if constexpr (from == DType::f32 && to == DType::f64) {
          target[i] = double(source[i]);
        } else if constexpr (from == DType::f32 && to == DType::bf16) {
          target[i] = BFloat16(source[i]);
          if (std::isinf(float(target[i])) && !std::isinf(source[i]))
            refuse(source[i], int64_t(i), to);
        } else {
          target[i] = convert<to>(source[i], int64_t(i));
        }
      }
    });
  });
  return result;
}

Literal Literal::reshaped(const Shape& shape, Where where) const {
  if (shape.elements() != elements()) {
    throw input_error(where, "Literal::reshaped: {} has {} elements: [{}] has {}", to_string(type_),
                      elements(), to_string(shape), shape.elements());
  }
  return Literal(Type{type_.dtype, shape}, buffer_);
}

std::string Literal::to_text() const {
  std::string text;
  append_axis(text, *this, 0, 0);
  return text;
}

bool Literal::operator==(const Literal& other) const {
  return type_ == other.type_ &&
         std::memcmp(buffer_.get(), other.buffer_.get(), size_t(type_.bytes())) == 0;
}

}  // namespace graphc::core

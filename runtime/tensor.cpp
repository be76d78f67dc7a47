// SPDX-License-Identifier: Apache-2.0
// Tensors: views of shared host buffers.
#include "runtime/tensor.h"

#include <cstring>

namespace graphc::core {

Tensor::Tensor(const Type& type) : Tensor(type, allocate_buffer(type.bytes())) {}

Tensor::Tensor(const Literal& literal) : Tensor(literal.type(), literal.buffer()) {}

Tensor::Tensor(const Type& type, std::shared_ptr<std::byte> buffer, int64_t offset)
    : type_(type), buffer_(std::move(buffer)), offset_(offset) {
  if (offset >= 0 && offset % size_of(type.dtype) == 0) return;
  throw input_error({}, "Tensor: {} at byte {} of a buffer: wanted a multiple of its {} bytes",
                    to_string(type), offset, size_of(type.dtype));
}

void Tensor::make_unique() {
  if (is_unique()) return;
  auto copy = allocate_buffer(type_.bytes());
  std::memcpy(copy.get(), address(), size_t(type_.bytes()));
  buffer_ = std::move(copy);
  offset_ = 0;
}

Literal Tensor::literal() const {
  if (reinterpret_cast<uintptr_t>(address()) % kBufferAlignment != 0) return copy();
  return Literal::from_buffer(type_, std::shared_ptr<std::byte>(buffer_, address()));
}

Literal Tensor::copy() const {
  return Literal::from_bytes(type_, {address(), size_t(type_.bytes())});
}

void Tensor::check_stored_as(bool same, Where where) const {
  if (same) return;
  throw input_error(where,
                    "{} is read as another type: wanted data<{}>(), or converted() before it",
                    to_string(type_), stored_name(type_.dtype));
}

void Tensor::check_one_element(Where where) const {
  if (elements() != 1) {
    throw input_error(where, "item() needs exactly one element: found {}", to_string(type_));
  }
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Tensors: arguments and results of executables, views of host buffers.
#pragma once

#include <memory>

#include "ir/literal.h"

namespace graphc::core {

/// A type and a view of its row-major elements in a shared buffer. Copying a tensor copies the
/// view, not the elements; the buffer lives as long as its last view.
class Tensor {
 public:
  /// f32[0].
  Tensor() : Tensor(Literal()) {}
  /// A buffer of its own, all zeros.
  explicit Tensor(const Type& type);
  static Tensor zeros(const Type& type) { return Tensor(type); }
  /// Shares the literal's buffer.
  Tensor(const Literal& literal);
  /// The elements at byte `offset` in `buffer`, whose length the caller guarantees; `offset` is a
  /// multiple of the element size.
  Tensor(const Type& type, std::shared_ptr<std::byte> buffer, int64_t offset = 0);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  int64_t elements() const { return type_.shape.elements(); }

  /// The address of the first element. Writing through it changes every view of the buffer and the
  /// literals that share it; only for the owner of an otherwise unused buffer, such as a session.
  std::byte* address() const { return buffer_.get() + offset_; }
  /// Whether no other tensor or literal shares the buffer.
  bool is_unique() const { return buffer_.use_count() == 1; }
  /// Gives this tensor its own buffer if it is shared, so that writes affect nothing else.
  void make_unique();

  /// The elements as `T`, which is Stored<dtype()>. Throws ErrorKind::input, at the caller's line,
  /// for another type: `y.literal().converted(f64)` has the elements as doubles.
  template <typename T>
  Elements<const T> data(Where where = Where::here()) const {
    check_stored_as(is_stored_as<T>(type_.dtype), where);
    return {buffer_, reinterpret_cast<const T*>(address()), size_t(elements())};
  }
  /// Writable elements; calls make_unique() first. Valid as long as the tensor.
  template <typename T>
  std::span<T> mutable_data(Where where = Where::here()) & {
    check_stored_as(is_stored_as<T>(type_.dtype), where);
    make_unique();
    return {reinterpret_cast<T*>(address()), size_t(elements())};
  }
  /// The only element. Throws ErrorKind::input if there is not exactly one element.
  template <typename T>
  T item(Where where = Where::here()) const {
    check_one_element(where);
    return data<T>(where)[0];
  }

  /// See Literal::scalar() and Literal::to_vector().
  double scalar() const { return literal().scalar(); }
  template <Number T = float>
  std::vector<T> to_vector() const {
    return literal().to_vector<T>();
  }

  /// The elements as a literal. Shares the buffer if the view is aligned, so later writes through
  /// address() are visible; use copy() to keep the current elements.
  Literal literal() const;
  Literal copy() const;

 private:
  void check_stored_as(bool same, Where where) const;
  void check_one_element(Where where) const;

  Type type_;
  std::shared_ptr<std::byte> buffer_;
  int64_t offset_ = 0;
};

}  // namespace graphc::core

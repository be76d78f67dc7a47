// SPDX-License-Identifier: Apache-2.0
// The elements of an array, as a program reads them.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace graphc::core {

/// The elements of an array in row-major order: a contiguous range, which becomes a std::span where
/// one is wanted. It keeps their buffer, so that it may outlive the array that it was asked of:
/// `for (float p : session.state("w").data<float>())` reads no memory that is gone, and what a run
/// returned stays what it was when the session runs again. A span made of it keeps nothing.
template <typename T>
class Elements {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;
  using const_reference = T&;
  using iterator = T*;
  using const_iterator = T*;

  Elements(std::shared_ptr<const void> buffer, T* first, size_t count)
      : buffer_(std::move(buffer)), first_(first), count_(count) {}

  T* begin() const { return first_; }
  T* end() const { return first_ + count_; }
  T* data() const { return first_; }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T& operator[](size_t place) const { return first_[place]; }
  T& front() const { return first_[0]; }
  T& back() const { return first_[count_ - 1]; }

  /// `count` of them from `place` on, which must be there, as std::span has it; they keep the
  /// buffer as well.
  Elements subspan(size_t place, size_t count) const { return {buffer_, first_ + place, count}; }
  Elements first(size_t count) const { return subspan(0, count); }

 private:
  std::shared_ptr<const void> buffer_;
  T* first_;
  size_t count_;
};

}  // namespace graphc::core

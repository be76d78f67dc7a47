// SPDX-License-Identifier: Apache-2.0
// The elements of an array, for reading.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace graphc::core {

/// The elements of an array in row-major order: a contiguous range that converts to std::span. It
/// keeps their buffer alive, so it may outlive the array: `for (float p :
/// session.state("w").data<float>())` does not dangle, and the results of a run survive the next
/// run. A span made from it keeps nothing alive.
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

  /// `count` elements starting at `place`, which must exist, as for std::span; keeps the buffer
  /// alive as well.
  Elements subspan(size_t place, size_t count) const { return {buffer_, first_ + place, count}; }
  Elements first(size_t count) const { return subspan(0, count); }

 private:
  std::shared_ptr<const void> buffer_;
  T* first_;
  size_t count_;
};

}  // namespace graphc::core

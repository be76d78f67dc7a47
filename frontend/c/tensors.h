// SPDX-License-Identifier: Apache-2.0
// The caller's memory as tensors: checks descriptors of the C interface.
#pragma once

#include <array>
#include <string>

#include "frontend/c/c.h"
#include "runtime/device_tensor.h"

namespace graphc::core {

/// An element type as the C interface has it.
graphc_dtype c_dtype_of(DType dtype);

/// A checked descriptor.
class CallersTensor {
 public:
  /// What is looked at: the type alone, memory of the host, or memory of the host or a GPU.
  enum class Of : uint8_t { type, host, anywhere };
  /// `what` is the tensor in messages: "input 'x'". Throws ErrorKind::input for memory that is not
  /// wanted, an unknown element type, a rank or an extent out of range, and a pointer that is NULL.
  CallersTensor(const graphc_tensor& descriptor, std::string what, Of of = Of::host);

  const Type& type() const { return type_; }
  const std::string& what() const { return what_; }
  /// Whether the elements are row-major and aligned, so that they can be used where they are.
  bool is_plain() const { return plain_; }

  bool is_on_gpu() const { return gpu_ >= 0; }
  /// A view of the memory of a GPU. Throws ErrorKind::input unless it is_plain().
  DeviceTensor on_gpu() const;

  /// The elements: a view of the caller's memory, or a copy. Throws ErrorKind::input for a bool
  /// that is neither 0 nor 1.
  Tensor to_read() const;
  /// A view of the caller's memory. Throws ErrorKind::input unless it is_plain().
  Tensor to_write() const;
  /// Whether they have a byte in common, taking each as one interval.
  bool shares_memory(const CallersTensor& other) const;

 private:
  void check_plain() const;
  void find_elements(const graphc_tensor& descriptor);
  void find_bounds();
  void copy(const std::byte* from, int axis, std::byte*& to) const;

  std::string what_;
  Type type_;
  int gpu_ = -1;  ///< in whose memory it is; -1: the host's
  std::byte* first_ = nullptr;
  std::array<int64_t, Shape::kMaxRank> strides_{};  ///< in bytes
  bool plain_ = true;
  uintptr_t low_ = 0, high_ = 0;  ///< the bytes from the lowest to behind the highest
};

}  // namespace graphc::core

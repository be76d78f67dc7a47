// SPDX-License-Identifier: Apache-2.0
// Arrays of Python, NumPy, PyTorch and others as inputs, and tensors as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>

#include "frontend/data.h"
#include "ir/error.h"

namespace graphc::core::python {

namespace nb = nanobind;

/// One input of a call: a number, nested lists of numbers, or whatever supports DLPack or the
/// buffer protocol. A row-major, aligned array in the host's memory is read where it is; others
/// there are copied. One in the memory of a GPU stays there. Its owner's work comes before the
/// work that the default stream gets later. Keeps the caller's array alive; destroy it with the
/// interpreter's lock held.
class Given {
 public:
  /// `what` is the argument in messages: "input 0". Throws ErrorKind::input for an element type
  /// that graphc does not have, for objects that are no arrays, and in the memory of a GPU for one
  /// that is not row-major.
  Given(nb::handle object, const std::string& what, Where where);

  const Data& data() const { return *data_; }
  bool is_on_device() const { return std::holds_alternative<DeviceTensor>(data_->any()); }

 private:
  bool take_number(nb::handle object, const std::string& what, Where where);
  void take_array(nb::handle object, const std::string& what, Where where);

  nb::object owner_;
  nb::ndarray<nb::ro> array_;
  std::optional<Data> data_;
};

/// A NumPy array that shares the tensor's buffer and keeps it alive; bf16 becomes f32, because
/// NumPy has no such type.
nb::object array_of(const Tensor& tensor);

/// A tensor in the memory of a GPU, from a capsule or an object of DLPack. Whoever made it answers
/// for what it holds, and for how long.
DeviceTensor device_tensor_of(nb::handle object, const std::string& what, Where where);

}  // namespace graphc::core::python

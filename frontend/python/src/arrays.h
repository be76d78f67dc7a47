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
/// buffer protocol. A row-major, aligned array in the host's memory is read where it is; others are
/// copied. Keeps the caller's array alive; destroy it with the interpreter's lock held.
class Given {
 public:
  /// `what` is the argument in messages: "input 0". Throws ErrorKind::input for memory of a device,
  /// an element type that graphc does not have, and objects that are no arrays.
  Given(nb::handle object, const std::string& what, Where where);

  const Data& data() const { return *data_; }

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

}  // namespace graphc::core::python

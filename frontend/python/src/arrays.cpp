// SPDX-License-Identifier: Apache-2.0
#include "frontend/python/src/arrays.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

#include "frontend/c/tensors.h"
#include "frontend/python/src/arguments.h"

namespace graphc::core::python {
namespace {

nb::object as_numpy(nb::handle object) {
  return nb::module_::import_("numpy").attr("asarray")(object);
}

/// The element type as NumPy writes it, for messages.
std::string dtype_text(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return {};
  const nb::object dtype = object.attr("dtype");
  return fmt::format(" of {}", nb::cast<std::string>(nb::str(dtype)));
}

bool is_known(const nb::dlpack::dtype& dtype) {
  constexpr std::array kKnown{GRAPHC_F32, GRAPHC_F64, GRAPHC_BF16, GRAPHC_I32,
                              GRAPHC_I64, GRAPHC_U32, GRAPHC_U8,   GRAPHC_BOOL};
  const uint32_t number = dtype.code + (uint32_t(dtype.bits) << 8) + (uint32_t(dtype.lanes) << 16);
  return std::ranges::find(kKnown, int(number)) != kKnown.end();
}

graphc_tensor descriptor_of(const nb::ndarray<nb::ro>& array) {
  const nb::dlpack::dtype dtype = array.dtype();
  graphc_tensor tensor{};
  tensor.data = const_cast<void*>(static_cast<const void*>(array.data()));
  tensor.device_type = array.device_type();
  tensor.device_id = array.device_id();
  tensor.rank = int32_t(array.ndim());
  tensor.dtype = dtype.code + (uint32_t(dtype.bits) << 8) + (uint32_t(dtype.lanes) << 16);
  tensor.shape = array.shape_ptr();
  tensor.strides = array.stride_ptr();
  return tensor;
}

constexpr int kCuda = nb::device::cuda::value;

/// The capsule of an array on a GPU; none for others.
nb::object capsule_on_gpu(nb::handle object) {
  // Who has the buffer protocol is in the host's memory, and torch is quicker asked so.
  if (PyObject_CheckBuffer(object.ptr())) return nb::none();
  const nb::object is_cuda = nb::getattr(object, "is_cuda", nb::none());
  if (is_cuda.ptr() == Py_False || !nb::hasattr(object, "__dlpack_device__")) return nb::none();
  return nb::module_::import_("graphc.devices").attr("capsule_of")(object);
}

void check_known(const nb::ndarray<nb::ro>& array, nb::handle object, const std::string& what,
                 Where where) {
  if (is_known(array.dtype())) return;
  throw input_error(where,
                    "{}: wanted elements of f32, bf16, f64, i32, i64, u32, u8 or bool: found {}{}: "
                    "convert it, as by astype('float32')",
                    what, type_text(object), dtype_text(object));
}

}  // namespace

DeviceTensor device_tensor_of(nb::handle object, const std::string& what, Where where) {
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(object, array) || array.device_type() != kCuda) {
    PyErr_Clear();
    throw input_error(where, "{}: wanted an array in the memory of a GPU: found {}", what,
                      type_text(object));
  }
  check_known(array, object, what, where);
  return CallersTensor(descriptor_of(array), what, CallersTensor::Of::anywhere).on_gpu();
}

Given::Given(nb::handle object, const std::string& what, Where where) {
  if (take_number(object, what, where)) return;
  if (is_value(object)) {
    throw input_error(where, "{}: wanted numbers: found {}, which has none", what,
                      type_text(object));
  }
  const bool nested = PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
  const bool generic = nb::hasattr(object, "__array__") && !nb::hasattr(object, "__dlpack__");
  owner_ = nested || generic ? as_numpy(object) : nb::borrow(object);
  // A lazily negated tensor of PyTorch hands its memory over without the sign.
  if (nb::hasattr(object, "requires_grad") && nb::hasattr(object, "is_neg") &&
      nb::cast<bool>(object.attr("is_neg")()))
    owner_ = object.attr("resolve_neg")();
  take_array(owner_, what, where);
}

bool Given::take_number(nb::handle object, const std::string& what, Where where) {
  if (PyBool_Check(object.ptr())) {
    Literal truth(Type{DType::boolean, {}});
    truth.mutable_bytes()[0] = std::byte(object.ptr() == Py_True ? 1 : 0);
    data_.emplace(Data::converting(truth));
  } else if (PyLong_Check(object.ptr())) {
    int64_t number = 0;
    if (!nb::try_cast(object, number))
      throw input_error(where, "{}: a number beyond 64 bits", what);
    data_.emplace(number);
  } else if (PyFloat_Check(object.ptr())) {
    data_.emplace(PyFloat_AsDouble(object.ptr()));
  }
  return data_.has_value();
}

void Given::take_array(nb::handle object, const std::string& what, Where where) {
  if (nb::hasattr(object, "requires_grad") && nb::cast<bool>(object.attr("requires_grad"))) {
    throw input_error(where,
                      "{}: wanted numbers: found a tensor that requires a gradient, which a "
                      "session does not carry on: write x.detach(), or graphc.torch.cell",
                      what);
  }
  if (nb::hasattr(object, "mask") && nb::hasattr(object, "filled")) {
    throw input_error(where,
                      "{}: wanted numbers: found {}, whose mask a graph does not see: write "
                      "x.filled(0)",
                      what, type_text(object));
  }
  const nb::object there = capsule_on_gpu(object);
  if (!nb::try_cast(there.is_none() ? nb::borrow(object) : there, array_)) {
    PyErr_Clear();
    throw input_error(where, "{}: wanted numbers, or an array of them: found {}{}", what,
                      type_text(object), dtype_text(object));
  }
  check_known(array_, object, what, where);
  try {
    if (array_.device_type() == kCuda) {
      data_.emplace(
          CallersTensor(descriptor_of(array_), what, CallersTensor::Of::anywhere).on_gpu());
      return;
    }
    data_.emplace(Data::converting(CallersTensor(descriptor_of(array_), what).to_read()));
  } catch (Error& error) {
    throw error.at(where);
  }
}

nb::object array_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::bf16) return array_of(tensor.literal().converted(DType::f32));
  const graphc_dtype number = c_dtype_of(tensor.dtype());
  const nb::dlpack::dtype dtype{uint8_t(number), uint8_t(number >> 8), uint16_t(number >> 16)};
  std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  auto* const kept = new Tensor(tensor);
  const nb::capsule owner(kept, [](void* last) noexcept { delete static_cast<Tensor*>(last); });
  return nb::cast(
      nb::ndarray<nb::numpy>(tensor.address(), shape.size(), shape.data(), owner, nullptr, dtype));
}

}  // namespace graphc::core::python

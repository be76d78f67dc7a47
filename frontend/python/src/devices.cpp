// SPDX-License-Identifier: Apache-2.0
// Arrays in the memory of a GPU.
#include <nanobind/stl/string.h>

#include "frontend/c/tensors.h"
#include "frontend/python/src/arrays.h"
#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

/// The array as an object of DLPack that keeps the memory. The run that computed it has ended, so
/// that it is ready in every stream.
nb::object dlpack_of(const DeviceTensor& array) {
  const graphc_dtype number = c_dtype_of(array.dtype());
  const nb::dlpack::dtype dtype{uint8_t(number), uint8_t(number >> 8), uint16_t(number >> 16)};
  const std::vector<size_t> shape(array.shape().begin(), array.shape().end());
  auto* const kept = new DeviceTensor(array);
  const nb::capsule owner(kept,
                          [](void* last) noexcept { delete static_cast<DeviceTensor*>(last); });
  return nb::cast(nb::ndarray<nb::array_api>(reinterpret_cast<void*>(array.address()), shape.size(),
                                             shape.data(), owner, nullptr, dtype,
                                             nb::device::cuda::value, array.device()));
}

Tensor on_host(const DeviceTensor& array) {
  const nb::gil_scoped_release others;
  return to_host(array);
}

nb::object number_of(const DeviceTensor& array) { return array_of(on_host(array)).attr("item")(); }

DeviceTensor on_device(nb::handle array, int device) {
  const Given given(array, "to_device", python_line());
  const nb::gil_scoped_release others;
  return to_device(given.data(), device);
}

}  // namespace

void bind_devices(nb::module_& module) {
  nb::class_<DeviceTensor>(
      module, "DeviceArray",
      "An array in the memory of a GPU, such as a result of a run whose inputs "
      "are there. torch.from_dlpack(array) is a tensor that shares its memory.")
      .def_prop_ro("shape", [](const DeviceTensor& self) { return self.shape(); })
      .def_prop_ro("dtype", [](const DeviceTensor& self) { return self.dtype(); })
      .def_prop_ro("device", &DeviceTensor::device, "The GPU, counted from 0.")
      .def(
          "numpy", [](const DeviceTensor& self) { return array_of(on_host(self)); },
          nb::sig("def numpy(self) -> numpy.ndarray"), "A copy in the host's memory.")
      .def("item", &number_of, nb::sig("def item(self) -> int | float | bool"), "The only element.")
      .def("__float__", [](const DeviceTensor& self) { return nb::float_(number_of(self)); })
      .def("__int__", [](const DeviceTensor& self) { return nb::int_(number_of(self)); })
      .def(
          "__array__",
          [](const DeviceTensor&, nb::args, nb::kwargs) -> nb::object {
            throw input_error(python_line(),
                              "a DeviceArray is in the memory of a GPU: array.numpy() is a copy in "
                              "the host's");
          },
          nb::sig("def __array__(self, *arguments: object, **named: object) -> numpy.ndarray"))
      .def(
          "__dlpack__",
          [](const DeviceTensor& self, nb::kwargs named) {
            nb::dict others;
            for (auto [name, value] : named) {
              if (nb::cast<std::string>(nb::borrow<nb::str>(name)) != "stream")
                others[name] = value;
            }
            return dlpack_of(self).attr("__dlpack__")(**others);
          },
          nb::sig("def __dlpack__(self, **named: object) -> object"))
      .def("__dlpack_device__",
           [](const DeviceTensor& self) {
             return nb::make_tuple(int(nb::device::cuda::value), self.device());
           })
      .def("__repr__", [](const DeviceTensor& self) {
        return fmt::format("<graphc.DeviceArray {} on GPU {}>", to_string(self.type()),
                           self.device());
      });
  module.def(
      "to_device", &on_device, nb::arg("array"), nb::arg("device") = 0,
      nb::sig("def to_device(array: object, device: int = 0) -> DeviceArray"),
      "A copy of an array in the memory of a GPU, counted from 0. Inputs that are there need "
      "no copy to the GPU in every run.");
}

}  // namespace graphc::core::python

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

/// A copy as a NumPy array.
nb::object copied(const DeviceTensor& array) {
  std::optional<Tensor> here;
  {
    const nb::gil_scoped_release others;
    here.emplace(to_host(array));
  }
  return array_of(*here);
}

DeviceTensor on_device(nb::handle array, int device) {
  const Given given(array, "to_device", python_line());
  const nb::gil_scoped_release others;
  const auto* const there = std::get_if<DeviceTensor>(&given.data().any());
  return to_device(there == nullptr ? given.data() : Data(to_host(*there)), device);
}

/// What NumPy answers for a copy: conversions and comparisons.
void add_numpys(nb::class_<DeviceTensor>& array) {
  const auto add = [&](const char* name, const char* signature) {
    array.def(
        name,
        [name](const DeviceTensor& self, nb::args others) {
          nb::list given;
          for (nb::handle other : others)
            given.append(nb::isinstance<DeviceTensor>(other) ? other.attr("numpy")()
                                                             : nb::borrow(other));
          return copied(self).attr(name)(*given);
        },
        nb::sig(signature));
  };
  add("__bool__", "def __bool__(self) -> bool");
  add("__float__", "def __float__(self) -> float");
  add("__int__", "def __int__(self) -> int");
  add("__len__", "def __len__(self) -> int");
  add("__format__", "def __format__(self, how: str, /) -> str");
  add("__eq__", "def __eq__(self, other: object, /) -> typing.Any");
  add("__ne__", "def __ne__(self, other: object, /) -> typing.Any");
  add("__lt__", "def __lt__(self, other: object, /) -> typing.Any");
  add("__le__", "def __le__(self, other: object, /) -> typing.Any");
  add("__gt__", "def __gt__(self, other: object, /) -> typing.Any");
  add("__ge__", "def __ge__(self, other: object, /) -> typing.Any");
  array.def(
      "__array__",
      [](const DeviceTensor& self, nb::args arguments, nb::kwargs named) {
        // It is a copy in any case.
        named.attr("pop")("copy", nb::none());
        return nb::module_::import_("numpy").attr("asarray")(copied(self), *arguments, **named);
      },
      nb::sig("def __array__(self, *arguments: object, **named: object) -> numpy.ndarray"),
      "A copy, for functions of NumPy.");
}

/// The protocol of DLPack, and copies: nobody changes an array, so a copy is the same.
void add_protocols(nb::class_<DeviceTensor>& array) {
  array
      .def(
          "__dlpack__",
          [](const DeviceTensor& self, nb::kwargs named) {
            named.attr("pop")("stream", nb::none());
            return dlpack_of(self).attr("__dlpack__")(**named);
          },
          nb::sig("def __dlpack__(self, **named: object) -> object"))
      .def("__dlpack_device__",
           [](const DeviceTensor& self) {
             return nb::make_tuple(int(nb::device::cuda::value), self.device());
           })
      .def(
          "__copy__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __copy__(self) -> DeviceArray"))
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); },
          nb::arg("memo"), nb::sig("def __deepcopy__(self, memo: object) -> DeviceArray"));
}

}  // namespace

void bind_devices(nb::module_& module) {
  nb::class_<DeviceTensor> array(
      module, "DeviceArray",
      "An array in the memory of a GPU, such as a result of a run whose inputs are there. Nobody "
      "changes it. torch.from_dlpack(array) is a tensor that shares its memory. Comparisons, "
      "conversions and functions of NumPy copy it to the host.");
  array.def_prop_ro("shape", [](const DeviceTensor& self) { return self.shape(); })
      .def_prop_ro("dtype", [](const DeviceTensor& self) { return self.dtype(); })
      .def_prop_ro("device", &DeviceTensor::device, "The GPU, counted from 0.")
      .def("numpy", &copied, nb::sig("def numpy(self) -> numpy.ndarray"),
           "A copy in the host's memory.")
      .def(
          "item", [](const DeviceTensor& self) { return copied(self).attr("item")(); },
          nb::sig("def item(self) -> int | float | bool"), "The only element.")
      .def("__repr__", [](const DeviceTensor& self) {
        return fmt::format("<graphc.DeviceArray {} on GPU {}>", to_string(self.type()),
                           self.device());
      });
  add_numpys(array);
  add_protocols(array);
  module.def(
      "to_device", &on_device, nb::arg("array").none(), nb::arg("device") = 0,
      nb::sig("def to_device(array: object, device: int = 0) -> DeviceArray"),
      "A copy of an array in the memory of a GPU, counted from 0. Inputs that are there need "
      "no copy to the GPU in every run.");
}

}  // namespace graphc::core::python

// SPDX-License-Identifier: Apache-2.0
#include "frontend/python/src/arguments.h"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

std::vector<std::string>& package_folders() {
  static std::vector<std::string> folders;
  return folders;
}

bool is_of_user(const std::string& file) {
  return std::ranges::none_of(package_folders(),
                              [&](const std::string& folder) { return file.starts_with(folder); });
}

std::string file_of(PyCodeObject* code) {
  const nb::object name = nb::steal(PyObject_GetAttrString((PyObject*)code, "co_filename"));
  if (!name.is_valid()) {
    PyErr_Clear();
    return {};
  }
  return nb::cast<std::string>(name);
}

}  // namespace

void add_package_folder(std::string folder) { package_folders().push_back(std::move(folder)); }

Where python_line() {
  nb::object frame = nb::borrow((PyObject*)PyEval_GetFrame());
  while (frame.is_valid() && !frame.is_none()) {
    auto* const raw = (PyFrameObject*)frame.ptr();
    const nb::object code = nb::steal((PyObject*)PyFrame_GetCode(raw));
    const std::string file = file_of((PyCodeObject*)code.ptr());
    if (is_of_user(file)) return {intern_file_name(file), PyFrame_GetLineNumber(raw), 0};
    frame = frame.attr("f_back");
  }
  return {};
}

std::string type_text(nb::handle object) {
  const nb::handle type = object.type();
  const auto module = nb::cast<std::string>(type.attr("__module__"));
  const auto name = nb::cast<std::string>(type.attr("__qualname__"));
  return module == "builtins" ? name : module + "." + name;
}

bool is_value(nb::handle object) {
  return nb::isinstance<Value>(object) || nb::isinstance<StateHandle>(object);
}

Value value_of(nb::handle object, Where where, const char* what) {
  if (nb::isinstance<Value>(object)) {
    const Value value = nb::cast<Value>(object);
    value.expect_usable(where);
    return value;
  }
  if (nb::isinstance<StateHandle>(object))
    return Trace::require("a state's value", where)
        .read(nb::cast<StateHandle&>(object).cell, where);
  Error error = input_error(where, "wanted {}: found {}", what, type_text(object));
  if (nb::hasattr(object, "__dlpack__") || nb::hasattr(object, "__array__"))
    error.note("an array is an input of the graph, a state, or literal(array)");
  throw error;
}

Numeral numeral_of(nb::handle object, Where where) {
  if (!PyBool_Check(object.ptr())) {
    if (PyIndex_Check(object.ptr()) && !nb::hasattr(object, "shape")) {
      const nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
      if (!integer.is_valid()) throw nb::python_error();
      int64_t number = 0;
      if (nb::try_cast(integer, number)) return number;
      return PyFloat_AsDouble(nb::float_(integer).ptr());
    }
    if (PyFloat_Check(object.ptr())) return PyFloat_AsDouble(object.ptr());
    // A scalar of NumPy.
    if (nb::hasattr(object, "dtype") && nb::hasattr(object, "item")) {
      const nb::object item = object.attr("item")();
      if (PyLong_Check(item.ptr()) && !PyBool_Check(item.ptr())) return nb::cast<int64_t>(item);
      if (PyFloat_Check(item.ptr())) return PyFloat_AsDouble(item.ptr());
    }
  }
  throw input_error(where, "wanted a number: found {}", type_text(object));
}

Operand operand_of(nb::handle object, Where where) {
  if (is_value(object)) return Operand(value_of(object, where), where);
  const bool scalar = nb::hasattr(object, "ndim") && nb::cast<int>(object.attr("ndim")) == 0;
  const bool number = PyFloat_Check(object.ptr()) ||
                      (PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr())) || scalar;
  if (!number) return Operand(value_of(object, where, "a value or a number"), where);
  const Numeral numeral = numeral_of(object, where);
  if (numeral.is_integer()) return Operand(numeral.as_integer(), where);
  return Operand(numeral.as_double(), where);
}

Values values_of(nb::handle object, Where where) {
  if (is_value(object)) {
    throw input_error(where, "wanted a sequence of values: found one; write [x]");
  }
  if (!PySequence_Check(object.ptr()))
    throw input_error(where, "wanted a sequence of values: found {}", type_text(object));
  Values values;
  for (nb::handle item : nb::borrow<nb::sequence>(object)) values.push_back(value_of(item, where));
  return values;
}

std::vector<int64_t> integers_of(nb::handle object, Where where, const char* what) {
  const auto integer = [&](nb::handle one) {
    int64_t number = 0;
    const bool whole = PyIndex_Check(one.ptr()) && !PyBool_Check(one.ptr());
    if (!whole) throw input_error(where, "wanted {}: found {}", what, type_text(one));
    const nb::object index = nb::steal(PyNumber_Index(one.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    if (!nb::try_cast(index, number))
      throw input_error(where, "wanted {}: found a number beyond 64 bits", what);
    return number;
  };
  if (!PySequence_Check(object.ptr())) return {integer(object)};
  std::vector<int64_t> numbers;
  for (nb::handle item : nb::borrow<nb::sequence>(object)) numbers.push_back(integer(item));
  return numbers;
}

Shape shape_of(nb::handle object, Where where) {
  return Shape(integers_of(object, where, "a shape, of whole numbers"), where);
}

Axes axes_of(nb::handle object, Where where) {
  if (object.is_none()) return {};
  return Axes(integers_of(object, where, "axes, which are whole numbers"));
}

DType dtype_of(nb::handle object, Where where) {
  if (nb::isinstance<DType>(object)) return nb::cast<DType>(object);
  std::string name;
  if (nb::isinstance<nb::str>(object)) {
    name = nb::cast<std::string>(object);
  } else if (PyType_Check(object.ptr())) {
    name = nb::cast<std::string>(object.attr("__name__"));
  } else if (nb::hasattr(object, "name")) {
    const nb::object found = object.attr("name");
    name = nb::cast<std::string>(nb::str(found));
  }
  if (const auto known = dtype_named(name)) return *known;
  const std::pair<const char*, DType> others[] = {
      {"float32", DType::f32}, {"float64", DType::f64},  {"bfloat16", DType::bf16},
      {"int32", DType::i32},   {"int64", DType::i64},    {"uint32", DType::u32},
      {"uint8", DType::u8},    {"bool_", DType::boolean}};
  for (const auto& [other, dtype] : others) {
    if (name == other) return dtype;
  }
  throw input_error(where, "wanted an element type, such as graphc.f32 or \"f32\": found {}",
                    name.empty() ? type_text(object) : fmt::format("'{}'", name));
}

std::vector<Type> types_of(nb::handle object, const char* what, Where where) {
  std::vector<Type> types;
  if (!PySequence_Check(object.ptr())) {
    throw input_error(where, "{}: wanted (dtype, shape) for each input: found {}", what,
                      type_text(object));
  }
  for (nb::handle one : nb::borrow<nb::sequence>(object)) {
    if (!PyTuple_Check(one.ptr()) || nb::len(one) != 2) {
      throw input_error(where, "{}: wanted (dtype, shape) for each input: found {}", what,
                        type_text(one));
    }
    types.push_back({dtype_of(one[0], where), shape_of(one[1], where)});
  }
  return types;
}

Initializer initializer_of(nb::handle object, const Initializer& otherwise, Where where) {
  if (object.is_none()) return otherwise;
  if (nb::isinstance<PythonInitializer>(object))
    return nb::cast<PythonInitializer&>(object).initializer;
  if (!PyCallable_Check(object.ptr())) {
    throw input_error(where, "wanted an initializer, such as zeros(): found {}", type_text(object));
  }
  return [function = kept(object), where](Value key, const Type& type) {
    const nb::gil_scoped_acquire lock;
    return value_of((*function)(key, type.shape, type.dtype), where, "an initializer's value");
  };
}

Params params_of(nb::handle object, Where where) {
  if (nb::isinstance<Params>(object)) return nb::cast<Params&>(object);
  const auto param = [&](nb::handle one) {
    if (!nb::isinstance<ParamHandle>(one))
      throw input_error(where, "wanted a parameter: found {}", type_text(one));
    return Param(nb::cast<ParamHandle&>(one).cell);
  };
  if (nb::isinstance<ParamHandle>(object)) return {param(object)};
  if (!PySequence_Check(object.ptr()))
    throw input_error(where, "wanted parameters: found {}", type_text(object));
  std::vector<Param> params;
  for (nb::handle item : nb::borrow<nb::sequence>(object)) params.push_back(param(item));
  return params;
}

std::shared_ptr<nb::object> kept(nb::handle object) {
  return {new nb::object(nb::borrow(object)), [](nb::object* last) {
            if (!Py_IsInitialized()) {
              last->release();
            } else {
              const nb::gil_scoped_acquire lock;
              last->reset();
            }
            delete last;
          }};
}

}  // namespace graphc::core::python

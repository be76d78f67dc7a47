// SPDX-License-Identifier: Apache-2.0
// The parts of the extension module graphc._graphc, and the objects that they share.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "frontend/graphc.h"
#include "frontend/python/src/arguments.h"

namespace graphc::core::python {

/// How the first value of a state is drawn.
struct PythonInitializer {
  Initializer initializer;
};

/// A model with the Python functions of its graphs. These may refer to the model, so the garbage
/// collector has to see them: C++ holds no reference to them of its own.
struct PythonModel {
  explicit PythonModel(const std::string& name) : model(name) {}

  Model model;
  std::deque<nb::object> functions;
  std::map<std::string, size_t, std::less<>> places;  ///< of the graphs' functions, by name
};

/// The inputs of a graph while its function runs.
struct PythonInputs {
  Inputs* inputs = nullptr;

  /// Throws ErrorKind::input once the function has returned.
  Inputs& open(Where where) const;
};

/// What a Python function returns, as the results of a graph.
Results results_of(nb::handle object, Where where);

/// The GPU of a session; -1 is the first. Throws ErrorKind::usage for a target without GPUs.
int device_of(const Target& on, int device);

void bind_errors(nb::module_& module);
void bind_values(nb::module_& module);
void bind_functions(nb::module_& module);
void bind_reductions(nb::module_& module);
void bind_models(nb::module_& module);
void bind_layers(nb::module_& module);
void bind_optimizers(nb::module_& module);
void bind_sessions(nb::module_& module);
void bind_devices(nb::module_& module);
void bind_divided(nb::module_& module);
void bind_files(nb::module_& module);
void bind_ops(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_training(nb::module_& module);
void bind_xla(nb::module_& module);

}  // namespace graphc::core::python

/// A shape is a tuple of integers.
template <>
struct nanobind::detail::type_caster<graphc::core::Shape> {
  NB_TYPE_CASTER(graphc::core::Shape, const_name("tuple[int, ...]"))
  bool from_python(handle, uint8_t, cleanup_list*) noexcept { return false; }
  static handle from_cpp(const graphc::core::Shape& shape, rv_policy, cleanup_list*) noexcept {
    PyObject* const tuple = PyTuple_New(shape.rank());
    for (int axis = 0; tuple != nullptr && axis < shape.rank(); ++axis)
      PyTuple_SetItem(tuple, axis, PyLong_FromLongLong(shape[axis]));
    return tuple;
  }
};

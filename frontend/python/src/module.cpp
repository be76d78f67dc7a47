// SPDX-License-Identifier: Apache-2.0
// The extension module graphc._graphc: the C++ frontend for Python.
#include "frontend/python/src/bindings.h"

namespace python = graphc::core::python;

NB_MODULE(_graphc, module) {
  module.attr("__version__") = GRAPHC_VERSION;
  // At exit the interpreter frees objects in any order, and not all of them.
  nanobind::set_leak_warnings(false);
  python::bind_errors(module);
  python::bind_values(module);
  python::bind_functions(module);
  python::bind_reductions(module);
  python::bind_models(module);
  python::bind_layers(module);
  python::bind_optimizers(module);
  python::bind_devices(module);
  python::bind_sessions(module);
  python::bind_divided(module);
  python::bind_files(module);
  python::bind_ops(module);
  python::bind_tables(module);
  python::bind_training(module);
  python::bind_xla(module);
}

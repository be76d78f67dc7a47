// SPDX-License-Identifier: Apache-2.0
// Errors as Python exceptions: a class for each ErrorKind, made in errors.py.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

/// The class of an error; the package's module `errors` has them.
nb::object class_of(ErrorKind kind) {
  const char* name = "InternalError";
  switch (kind) {
    case ErrorKind::internal:
      break;
    case ErrorKind::usage:
      name = "UsageError";
      break;
    case ErrorKind::input:
      name = "InputError";
      break;
    case ErrorKind::check:
      name = "CheckError";
      break;
    case ErrorKind::resource:
      name = "ResourceError";
      break;
  }
  return nb::module_::import_("graphc.errors").attr(name);
}

void set_exception(const Error& error) {
  const nb::object type = class_of(error.kind());
  const Where where = error.where();
  nb::object file = nb::none(), line = nb::none();
  if (where) {
    file = nb::str(where.file);
    line = nb::int_(where.line);
  }
  const nb::object exception =
      type(nb::str(error.what()), nb::arg("message") = error.message(), nb::arg("file") = file,
           nb::arg("line") = line, nb::arg("notes") = error.notes());
  PyErr_SetObject(type.ptr(), exception.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    set_exception(error);
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  nb::register_exception_translator(translate);
  module.def("add_package_folder", &add_package_folder, nb::arg("folder"),
             "Lines of files in this folder are not the user's.");
}

}  // namespace graphc::core::python

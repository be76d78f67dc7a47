// SPDX-License-Identifier: Apache-2.0
// Arguments of Python functions: checked here, not by nanobind, so that a wrong one gives a message
// that says what was found and what was wanted, at the line of the user's program.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/functions.h"
#include "frontend/initializers.h"
#include "frontend/state.h"
#include "ir/build.h"

namespace graphc::core::python {

namespace nb = nanobind;

/// A state as Python holds it. Not a State, whose copy during a trace is the value at that point:
/// in Python a name is a reference to an object, and `h.value` reads.
struct StateHandle {
  std::shared_ptr<StateCell> cell;

  State state() const { return State(cell); }
};
/// A parameter; in Python a subclass of State.
struct ParamHandle : StateHandle {};

/// The innermost line of the running Python program outside of add_package_folder().
Where python_line();
/// Frames of files in this folder are not the user's: those of the package, and of packages that
/// call it back.
void add_package_folder(std::string folder);

/// "numpy.ndarray", "int": the type of an object, for messages.
std::string type_text(nb::handle object);

/// An argument of any type, by what it has to be.
struct AnyArgument {
  nb::handle object;
};
struct ValueArgument : AnyArgument {};        ///< Value | State
struct OperandArgument : AnyArgument {};      ///< Value | State | number
struct ValuesArgument : AnyArgument {};       ///< a sequence of values and states
struct ShapeArgument : AnyArgument {};        ///< an integer or a sequence of integers
struct AxesArgument : AnyArgument {};         ///< None, an integer or a sequence of integers
struct InitializerArgument : AnyArgument {};  ///< an Initializer, a function or None
struct ParamsArgument : AnyArgument {};       ///< Params or a sequence of parameters

bool is_value(nb::handle object);

Value value_of(nb::handle object, Where where, const char* what = "a value");
Operand operand_of(nb::handle object, Where where);
Numeral numeral_of(nb::handle object, Where where);
Values values_of(nb::handle object, Where where);
std::vector<int64_t> integers_of(nb::handle object, Where where, const char* what);
Shape shape_of(nb::handle object, Where where);
Axes axes_of(nb::handle object, Where where);
/// The element type of a graphc dtype, its name, or a NumPy dtype.
DType dtype_of(nb::handle object, Where where);
/// The types of inputs: a sequence of (dtype, shape); `what` asks for it.
std::vector<Type> types_of(nb::handle object, const char* what, Where where);
/// `otherwise` for None.
Initializer initializer_of(nb::handle object, const Initializer& otherwise, Where where);
Params params_of(nb::handle object, Where where);

/// A Python object kept by C++, which may drop it on any thread: takes the interpreter's lock.
std::shared_ptr<nb::object> kept(nb::handle object);

}  // namespace graphc::core::python

// NOLINTNEXTLINE: a specialisation per kind of argument.
#define GRAPHC_PYTHON_ARGUMENT(Type, text)                                        \
  template <>                                                                     \
  struct nanobind::detail::type_caster<graphc::core::python::Type> {              \
    NB_TYPE_CASTER(graphc::core::python::Type, const_name(text))                  \
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {            \
      value.object = source;                                                      \
      return true;                                                                \
    }                                                                             \
    static handle from_cpp(const graphc::core::python::Type& argument, rv_policy, \
                           cleanup_list*) noexcept {                              \
      return argument.object.inc_ref();                                           \
    }                                                                             \
  };
GRAPHC_PYTHON_ARGUMENT(ValueArgument, "Value | State")
GRAPHC_PYTHON_ARGUMENT(OperandArgument, "Value | State | float")
GRAPHC_PYTHON_ARGUMENT(ValuesArgument, "collections.abc.Sequence[Value | State]")
GRAPHC_PYTHON_ARGUMENT(ShapeArgument, "int | collections.abc.Sequence[int]")
GRAPHC_PYTHON_ARGUMENT(AxesArgument, "None | int | collections.abc.Sequence[int]")
GRAPHC_PYTHON_ARGUMENT(InitializerArgument, "None | Initializer | collections.abc.Callable")
GRAPHC_PYTHON_ARGUMENT(ParamsArgument, "Params | collections.abc.Sequence[Param]")
#undef GRAPHC_PYTHON_ARGUMENT

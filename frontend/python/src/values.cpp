// SPDX-License-Identifier: Apache-2.0
// Values and states: operators, slices, and what a state's handle can do.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

using Binary = Value (*)(Operand, Operand);

Operand other(nb::handle object) { return operand_of(object, python_line()); }

/// An elementwise operator of values and states, with the operands in either order.
template <typename Class>
void add_operator(nb::class_<Class>& of, const char* name, const char* reflected, Binary op) {
  of.def(
      name, [op](nb::handle self, OperandArgument b) { return op(other(self), other(b.object)); },
      nb::is_operator());
  if (reflected == nullptr) return;
  of.def(
      reflected,
      [op](nb::handle self, OperandArgument a) { return op(other(a.object), other(self)); },
      nb::is_operator());
}

/// What an index of one axis asks for.
struct Part {
  bool is_index = false;
  int64_t index = 0;
  int64_t start = 0, stop = 0, step = 1;
};

Part part_of(nb::handle object, int64_t extent, Where where) {
  Part part;
  if (PySlice_Check(object.ptr())) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(object.ptr(), &start, &stop, &step) < 0) throw nb::python_error();
    if (step != 1 && step != -1) {
      throw input_error(where, "a slice of a value has step 1 or -1: found {}", step);
    }
    PySlice_AdjustIndices(extent, &start, &stop, step);
    part.step = step;
    part.start = step > 0 ? start : stop + 1;
    part.stop = std::max<int64_t>(part.start, step > 0 ? stop : start + 1);
    return part;
  }
  constexpr const char* kWanted = "an index: an integer, a slice, ..., or None";
  if (PySequence_Check(object.ptr()))
    throw input_error(where, "wanted {}: found {}", kWanted, type_text(object));
  part.is_index = true;
  part.index = integers_of(object, where, kWanted)[0];
  return part;
}

/// x[items]: integers, slices, `...` and None, as in NumPy; and a value of integers, which gathers
/// rows of axis 0.
Value item_of(Value x, nb::handle items, Where where) {
  if (is_value(items)) return gather(x, value_of(items, where), where);
  std::vector<nb::object> list;
  if (PyTuple_Check(items.ptr())) {
    for (nb::handle item : nb::borrow<nb::tuple>(items)) list.push_back(nb::borrow(item));
  } else {
    list.push_back(nb::borrow(items));
  }
  int named = 0, dots = 0;
  for (const nb::object& item : list) {
    dots += item.is(nb::ellipsis());
    named += !item.is(nb::ellipsis()) && !item.is_none();
  }
  if (dots > 1) throw input_error(where, "an index has at most one '...'");
  if (named > x.shape().rank()) {
    throw input_error(where, "{} indices of a value of rank {}: {}", named, x.shape().rank(),
                      to_string(x.type()));
  }
  int axis = 0;
  for (const nb::object& item : list) {
    if (item.is(nb::ellipsis())) {
      axis += x.shape().rank() - axis;
      int behind = 0;
      bool after = false;
      for (const nb::object& one : list) {
        if (after && !one.is_none()) ++behind;
        after |= one.is(nb::ellipsis());
      }
      axis -= behind;
      continue;
    }
    if (item.is_none()) {
      x = reshape(x, x.shape().insert(axis++, 1), where);
      continue;
    }
    const int64_t extent = x.shape()[axis];
    const Part part = part_of(item, extent, where);
    if (part.is_index) {
      x = at(x, part.index, axis, where);
      continue;
    }
    if (part.start != 0 || part.stop != extent) x = slice(x, axis, part.start, part.stop, where);
    if (part.step < 0) x = reverse(x, Axes(axis), where);
    ++axis;
  }
  return x;
}

std::string shown(const Value& value) {
  if (value.trace != 0 && value.trace != current_trace_number())
    return "<graphc.Value of a trace that has ended>";
  return fmt::format("<graphc.Value %{}: {}>", value.name(), to_string(value.type()));
}

/// What values and states have in common.
template <typename Class>
void add_arithmetic(nb::class_<Class>& of) {
  add_operator(of, "__add__", "__radd__", [](Operand a, Operand b) { return a + b; });
  add_operator(of, "__sub__", "__rsub__", [](Operand a, Operand b) { return a - b; });
  add_operator(of, "__mul__", "__rmul__", [](Operand a, Operand b) { return a * b; });
  add_operator(of, "__truediv__", "__rtruediv__", [](Operand a, Operand b) { return a / b; });
  add_operator(of, "__pow__", "__rpow__", &pow);
  add_operator(of, "__mod__", "__rmod__", &remainder);
  add_operator(of, "__eq__", nullptr, &equal);
  add_operator(of, "__ne__", nullptr, &not_equal);
  add_operator(of, "__lt__", nullptr, &less);
  add_operator(of, "__le__", nullptr, &less_equal);
  add_operator(of, "__gt__", nullptr, &greater);
  add_operator(of, "__ge__", nullptr, &greater_equal);
  add_operator(of, "__and__", nullptr, &logical_and);
  add_operator(of, "__or__", nullptr, &logical_or);
  add_operator(of, "__xor__", nullptr, &logical_xor);
  const auto value = [](nb::handle self) { return value_of(self, python_line()); };
  of.def("__matmul__", [](nb::handle self, ValueArgument b) {
    const Where where = python_line();
    return matmul(value_of(self, where), value_of(b.object, where), false, false, where);
  });
  of.def("__neg__", [value](nb::handle self) { return neg(value(self), python_line()); });
  of.def("__pos__", [value](nb::handle self) { return value(self); });
  of.def("__abs__", [value](nb::handle self) { return abs(value(self), python_line()); });
  of.def("__invert__",
         [value](nb::handle self) { return logical_not(value(self), python_line()); });
  of.def("__hash__", [](nb::handle self) { return Py_hash_t(uintptr_t(self.ptr()) >> 4); });
  of.def("__bool__", [](nb::handle) -> bool {
    throw input_error(python_line(),
                      "a value is known when the graph runs, not while it is traced: instead of "
                      "`if`, `and`, `or` and `not` write select(condition, a, b), & | and ~");
  });
  of.def(
      "__getitem__",
      [](nb::handle self, nb::handle items) {
        const Where where = python_line();
        return item_of(value_of(self, where), items, where);
      },
      nb::sig("def __getitem__(self, index: object) -> Value"),
      "Parts by integers, slices of step 1 or -1, `...` and None, as in NumPy; rows of axis 0 by a "
      "value of integers.");
  of.def("__len__", [](nb::handle self) {
    const Where where = python_line();
    const Value x = value_of(self, where);
    if (x.shape().rank() > 0) return x.shape()[0];
    throw input_error(where, "a scalar has no length");
  });
  of.def(
      "__iter__",
      [](nb::handle self) {
        const Where where = python_line();
        return nb::iter(nb::cast(unstack(value_of(self, where), 0, where)));
      },
      nb::sig("def __iter__(self) -> collections.abc.Iterator[Value]"));
  // NumPy's arrays leave operators with values to the values.
  of.attr("__array_ufunc__") = nb::none();
}

void bind_value(nb::module_& module) {
  nb::class_<Value> value(module, "Value",
                          "A place in the graph that is traced: it has a type, but no numbers. "
                          "Operators and functions on values add to the graph.");
  add_arithmetic(value);
  value.def_prop_ro(
           "shape", [](const Value& x) { return x.shape(); }, "The extents, as a tuple.")
      .def_prop_ro(
          "dtype", [](const Value& x) { return x.dtype(); }, "The element type.")
      .def_prop_ro(
          "rank", [](const Value& x) { return x.shape().rank(); }, "The number of axes.")
      .def_prop_ro(
          "name", [](const Value& x) { return x.name(); }, "Its name in the graph.")
      .def("__repr__", &shown);
}

void assign(const StateHandle& self, const OperandArgument& value) {
  const Where where = python_line();
  self.state() = operand_of(value.object, where);
}

/// `h += x` assigns the state, as in C++, and keeps the name for it.
void add_assignment(nb::class_<StateHandle>& state, const char* name,
                    State& (State::*change)(Operand)) {
  state.def(
      name,
      [change](nb::object self, OperandArgument value) {
        State handle = nb::cast<StateHandle&>(self).state();
        (handle.*change)(operand_of(value.object, python_line()));
        return self;
      },
      nb::is_operator());
}

void bind_state(nb::module_& module) {
  nb::class_<StateHandle> state(
      module, "State",
      "A value that is assigned. It reads as a value; `h.value = ...` gives it its next value.\n\n"
      "State(initial) is a register of the traced graph that starts as `initial` in every run; "
      "Model.state() declares a state that is kept from run to run. A state assigned in the body "
      "of scan() is a carry of that loop.");
  state.def(
      "__init__",
      [](StateHandle* self, ValueArgument initial, std::string name) {
        const Where where = python_line();
        const State made(value_of(initial.object, where), std::move(name), where);
        new (self) StateHandle{made.cell()};
      },
      nb::arg("initial"), nb::arg("name") = "state");
  add_arithmetic(state);
  add_assignment(state, "__iadd__", &State::operator+=);
  add_assignment(state, "__isub__", &State::operator-=);
  add_assignment(state, "__imul__", &State::operator*=);
  add_assignment(state, "__itruediv__", &State::operator/=);
  state
      .def_prop_rw(
          "value",
          [](const StateHandle& self) {
            const Where where = python_line();
            return Trace::require("a state's value", where).read(self.cell, where);
          },
          &assign, "Its value at this point of the traced graph; assigning gives the next one.",
          nb::for_getter(nb::sig("def value(self) -> Value")),
          nb::for_setter(nb::sig("def value(self, value: Value | State | float, /) -> None")))
      .def("assign", &assign, nb::arg("value"), "The same as `state.value = value`.")
      .def_prop_ro("name", [](const StateHandle& self) { return self.cell->name; })
      .def_prop_ro("shape", [](const StateHandle& self) { return self.cell->type.shape; })
      .def_prop_ro("dtype", [](const StateHandle& self) { return self.cell->type.dtype; })
      .def_prop_ro("rank", [](const StateHandle& self) { return self.cell->type.shape.rank(); })
      .def("__repr__", [](const StateHandle& self) {
        return fmt::format("<graphc.{} '{}': {}>", self.cell->parameter ? "Param" : "State",
                           self.cell->name, to_string(self.cell->type));
      });
  nb::class_<ParamHandle, StateHandle>(module, "Param",
                                       "A parameter: a state of the model that training changes.");
}

void bind_params(nb::module_& module) {
  const auto handle = [](const Param& param) { return ParamHandle{{param.cell()}}; };
  const auto selected = [](const Params& self, nb::handle which, bool inside) {
    const Where where = python_line();
    if (nb::isinstance<ParamHandle>(which) || nb::isinstance<Params>(which)) {
      const ParamSelection selection(params_of(which, where), where);
      return inside ? self.only(selection) : self.without(selection);
    }
    ParamSelection selection({}, where);
    if (nb::isinstance<nb::str>(which)) {
      selection.names = {nb::cast<std::string>(which)};
    } else {
      selection.names = nb::cast<std::vector<std::string>>(which);
    }
    return inside ? self.only(selection) : self.without(selection);
  };
  nb::class_<Params>(module, "Params", "A list of parameters.")
      .def(
          "__init__",
          [](Params* self, ParamsArgument params) {
            new (self) Params(params_of(params.object, python_line()));
          },
          nb::arg("params"))
      .def("__len__", &Params::size)
      .def("__getitem__",
           [handle](const Params& self, int64_t place) {
             const int64_t count = int64_t(self.size());
             const int64_t from_start = place < 0 ? place + count : place;
             // Python's protocol of sequences ends iterations by this exception.
             if (from_start < 0 || from_start >= count) throw nb::index_error();
             return handle(self[ListPlace(from_start, python_line())]);
           })
      .def("__add__", [](const Params& a, const Params& b) { return a + b; })
      .def(
          "only",
          [selected](const Params& self, nb::handle which) { return selected(self, which, true); },
          nb::sig("def only(self, which: str | collections.abc.Sequence[str] | Param | Params) -> "
                  "Params"),
          "The parameters of these names, of the layers of these names, or these parameters.")
      .def(
          "without",
          [selected](const Params& self, nb::handle which) { return selected(self, which, false); },
          nb::sig("def without(self, which: str | collections.abc.Sequence[str] | Param | Params) "
                  "-> Params"),
          "All but those that only() gives.")
      .def("__repr__", [](const Params& self) {
        std::vector<std::string> names;
        for (const Param& param : self) names.push_back(param.name());
        return fmt::format("<graphc.Params: {}>", fmt::join(names, ", "));
      });
}

}  // namespace

void bind_values(nb::module_& module) {
  nb::enum_<DType>(module, "DType", "An element type.")
      .value("f32", DType::f32)
      .value("bf16", DType::bf16)
      .value("f64", DType::f64)
      .value("i32", DType::i32)
      .value("i64", DType::i64)
      .value("u32", DType::u32)
      .value("u8", DType::u8)
      .value("bool", DType::boolean);
  bind_value(module);
  bind_state(module);
  bind_params(module);
}

}  // namespace graphc::core::python

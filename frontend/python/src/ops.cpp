// SPDX-License-Identifier: Apache-2.0
// Every op by its name in the text of graphs, for the Python of graphc.ops.
#include <nanobind/stl/string.h>

#include <set>
#include <utility>
#include <vector>

#include "frontend/python/src/bindings.h"
#include "ir/build.h"
#include "ir/op.h"
#include "ir/op_attributes.h"

namespace graphc::core::python {
namespace {

/// Ops that are made of more than values and attributes, and what makes them.
constexpr std::pair<const Op*, const char*> kOtherwise[] = {
    {&ops::input, "inputs(...)"},         {&ops::state, "model.state(...)"},
    {&ops::constant, "graphc.literal()"}, {&ops::iota, "graphc.iota()"},
    {&ops::scan, "graphc.scan()"},        {&ops::grad, "graphc.gradients()"},
    {&ops::kernel, "the compiler"}};

Attribute list_attribute(nb::sequence items, Where where) {
  std::vector<int64_t> integers;
  std::vector<double> floats;
  bool whole = true;
  for (nb::handle item : items) {
    const Numeral number = numeral_of(item, where);
    whole = whole && number.is_integer();
    if (whole) integers.push_back(number.as_integer());
    floats.push_back(number.as_double());
  }
  return whole ? Attribute(integers) : Attribute(floats);
}

Attribute attribute_of(nb::handle object, Where where, const std::string& name) {
  if (name == "dtype" || nb::isinstance<DType>(object)) return dtype_of(object, where);
  if (PyBool_Check(object.ptr())) return object.ptr() == Py_True;
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()))
    return list_attribute(nb::borrow<nb::sequence>(object), where);
  const Numeral number = numeral_of(object, where);
  if (number.is_integer()) return number.as_integer();
  return number.as_double();
}

/// The results of the op on these operands, in the graph that is traced.
nb::object applied(const std::string& name, nb::sequence operands, const nb::dict& attributes) {
  const Where where = python_line();
  const Op* const op = find_op(name);
  if (op == nullptr) throw input_error(where, "there is no op '{}'", name);
  for (const auto& [other, instead] : kOtherwise) {
    if (other == op) throw input_error(where, "{}: it is made by {}", name, instead);
  }
  std::vector<Operand> values;
  for (nb::handle one : operands) values.push_back(operand_of(one, where));
  Attributes given;
  const std::set<std::string> known = attribute_names(*op);
  for (auto [key, value] : attributes) {
    const auto word = nb::cast<std::string>(key);
    if (!known.contains(word)) {
      throw input_error(where, "{}: wanted {}: found an attribute '{}'", name,
                        known.empty() ? "no attributes"
                                      : fmt::format("the attributes {}", fmt::join(known, ", ")),
                        word);
    }
    given.set(word, attribute_of(value, where, word));
  }
  const Node& node = apply(*op, std::move(values), std::move(given), {}, where);
  if (node.results() == 1) return nb::cast(node.result());
  nb::list results;
  for (int i = 0; i < node.results(); ++i) results.append(nb::cast(node.result(i)));
  return nb::tuple(results);
}

nb::list records() {
  nb::list list;
  for (const Op* op : all_ops()) {
    nb::list attributes;
    for (const std::string& name : attribute_names(*op)) attributes.append(name);
    list.append(nb::make_tuple(std::string(op->name), std::string(op->doc), std::string(op->body),
                               attributes));
  }
  return list;
}

}  // namespace

void bind_ops(nb::module_& module) {
  module.def("_op_records", &records,
             "(name, documentation, body as text, names of attributes) of every op.");
  module.def("_apply_op", &applied, nb::arg("name"), nb::arg("operands"), nb::arg("attributes"),
             "The results of an op.");
}

}  // namespace graphc::core::python

// SPDX-License-Identifier: Apache-2.0
// Functions on values: reductions, shapes, products, tables, loops.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"
#include "ir/op.h"

namespace graphc::core::python {
namespace {

using Integers = std::vector<int64_t>;

void bind_sums(nb::module_& module) {
  using Reduction = Value (*)(Value, const Axes&, bool, Where);
  const auto add = [&](const char* name, const char* doc, Reduction function) {
    module.def(
        name,
        [function](ValueArgument x, AxesArgument axes, bool keep) {
          const Where where = python_line();
          return function(value_of(x.object, where), axes_of(axes.object, where), keep, where);
        },
        nb::arg("x"), nb::arg("axes") = nb::none(), nb::arg("keep") = false, doc);
  };
  add("sum", "The sum over the axes (None: all); `keep` keeps them with extent 1.", &sum);
  add("mean", "The mean over the axes (None: all).", &mean);
  add("max", "The largest element over the axes (None: all).", &max);
  add("min", "The smallest element over the axes (None: all).", &min);
  add("prod", "The product over the axes (None: all).", &prod);
  add("variance", "The population variance over the axes (None: all).", &variance);
  const auto add_place = [&](const char* name, const char* doc, Value (*of_all)(Value, Where),
                             Value (*along)(Value, int, Where)) {
    module.def(
        name,
        [of_all, along](ValueArgument x, std::optional<int> axis) {
          const Where where = python_line();
          const Value value = value_of(x.object, where);
          return axis ? along(value, *axis, where) : of_all(value, where);
        },
        nb::arg("x"), nb::arg("axis") = nb::none(), doc);
  };
  add_place("argmax", "The index of the first largest element along the axis (None: of all).",
            &argmax, &argmax);
  add_place("argmin", "The index of the first smallest element along the axis (None: of all).",
            &argmin, &argmin);
}

void bind_norms_and_sums(nb::module_& module) {
  const auto add_softmax = [&](const char* name, const char* doc,
                               Value (*along)(Value, int, Where)) {
    module.def(
        name,
        [along](ValueArgument x, int axis) {
          const Where where = python_line();
          return along(value_of(x.object, where), axis, where);
        },
        nb::arg("x"), nb::arg("axis") = -1, doc);
  };
  add_softmax("softmax", "exp(x) / sum(exp(x)) along the axis.", &softmax);
  add_softmax("log_softmax", "The logarithm of softmax.", &log_softmax);
  module.def(
      "layer_norm",
      [](ValueArgument x, double epsilon) {
        const Where where = python_line();
        return layer_norm(value_of(x.object, where), epsilon, where);
      },
      nb::arg("x"), nb::arg("epsilon") = 1e-5,
      "(x - mean) / sqrt(variance + epsilon) over the last axis, without gain and bias.");
  module.def(
      "cumsum",
      [](ValueArgument x, int axis, bool reverse) {
        const Where where = python_line();
        return cumsum(value_of(x.object, where), axis, reverse, where);
      },
      nb::arg("x"), nb::arg("axis"), nb::arg("reverse") = false,
      "The sum of each element and all before it along the axis; with `reverse`, all after it.");
  module.def(
      "top_k",
      [](ValueArgument x, int64_t k) {
        const Where where = python_line();
        return top_k(value_of(x.object, where), k, where);
      },
      nb::arg("x"), nb::arg("k"),
      "The k largest elements along the last axis in descending order, and their indices.");
}

void bind_shapes(nb::module_& module) {
  module.def(
      "reshape",
      [](ValueArgument x, ShapeArgument shape) {
        const Where where = python_line();
        const Integers extents = integers_of(shape.object, where, "a shape, of whole numbers");
        return reshape(value_of(x.object, where), NewShape(extents), where);
      },
      nb::arg("x"), nb::arg("shape"), "The same elements in another shape; one extent may be -1.");
  module.def(
      "transpose",
      [](ValueArgument x, ShapeArgument permutation) {
        const Where where = python_line();
        return transpose(value_of(x.object, where), integers_of(permutation.object, where, "axes"),
                         where);
      },
      nb::arg("x"), nb::arg("permutation"), "The axes in another order.");
  module.def(
      "broadcast_to",
      [](ValueArgument x, ShapeArgument shape) {
        const Where where = python_line();
        return broadcast_to(value_of(x.object, where), shape_of(shape.object, where), where);
      },
      nb::arg("x"), nb::arg("shape"), "The elements repeated along axes of extent 1.");
  module.def(
      "pad",
      [](ValueArgument x, ShapeArgument low, ShapeArgument high, nb::handle value) {
        const Where where = python_line();
        return pad(value_of(x.object, where), integers_of(low.object, where, "whole numbers"),
                   integers_of(high.object, where, "whole numbers"), numeral_of(value, where),
                   where);
      },
      nb::arg("x"), nb::arg("low"), nb::arg("high"), nb::arg("value") = 0,
      nb::sig("def pad(x: Value | State, low: collections.abc.Sequence[int], "
              "high: collections.abc.Sequence[int], value: float = 0) -> Value"),
      "x with low[i] elements `value` before it and high[i] after it along axis i.");
  module.def(
      "reverse",
      [](ValueArgument x, AxesArgument axes) {
        const Where where = python_line();
        return reverse(value_of(x.object, where), axes_of(axes.object, where), where);
      },
      nb::arg("x"), nb::arg("axes"), "The elements in reverse order along these axes.");
}

void bind_parts(nb::module_& module) {
  const auto add_joined = [&](const char* name, const char* doc,
                              Value (*function)(const Values&, int, Where)) {
    module.def(
        name,
        [function](ValuesArgument parts, int axis) {
          const Where where = python_line();
          return function(values_of(parts.object, where), axis, where);
        },
        nb::arg("parts"), nb::arg("axis") = 0, doc);
  };
  add_joined("concat", "Values joined along an axis.",
             [](const Values& parts, int axis, Where where) { return concat(parts, axis, where); });
  add_joined("stack", "Values of one shape joined along a new axis.", &stack);
  module.def(
      "split",
      [](ValueArgument x, int parts, int axis) {
        const Where where = python_line();
        return split(value_of(x.object, where), parts, axis, where);
      },
      nb::arg("x"), nb::arg("parts"), nb::arg("axis") = -1,
      "Equal parts along an axis: `i, f, g, o = split(z, 4)`.");
  module.def(
      "unstack",
      [](ValueArgument x, int axis) {
        const Where where = python_line();
        return unstack(value_of(x.object, where), axis, where);
      },
      nb::arg("x"), nb::arg("axis") = 0, "The slices along an axis, which is removed.");
}

void bind_products(nb::module_& module) {
  module.def(
      "matmul",
      [](ValueArgument a, ValueArgument b, bool transpose_a, bool transpose_b) {
        const Where where = python_line();
        return matmul(value_of(a.object, where), value_of(b.object, where), transpose_a,
                      transpose_b, where);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("transpose_a") = false, nb::arg("transpose_b") = false,
      "The matrix product over the last two axes: a @ b.");
  module.def(
      "einsum",
      [](const std::string& formula, ValuesArgument operands) {
        const Where where = python_line();
        return einsum(formula, values_of(operands.object, where), where);
      },
      nb::arg("formula"), nb::arg("operands"),
      "Einstein summation over one or two operands: einsum(\"bik,bkj->bij\", [x, y]).");
  module.def(
      "one_hot",
      [](ValueArgument labels, int64_t depth) {
        const Where where = python_line();
        return one_hot(value_of(labels.object, where), depth, where);
      },
      nb::arg("labels"), nb::arg("depth"), "For labels [...] of integers: bool [..., depth].");
  module.def(
      "gather",
      [](ValueArgument table, ValueArgument indices) {
        const Where where = python_line();
        return gather(value_of(table.object, where), value_of(indices.object, where), where);
      },
      nb::arg("table"), nb::arg("indices"), "Rows of `table` (axis 0), by integers.");
  module.def(
      "merge_rows",
      [](ValueArgument indices, ValueArgument rows) {
        const Where where = python_line();
        return merge_rows(value_of(indices.object, where), value_of(rows.object, where), where);
      },
      nb::arg("indices"), nb::arg("rows"),
      "The distinct indices in ascending order, padded with -1, and the sum of the rows of each.");
  const auto add_scatter = [&](const char* name, const char* doc,
                               Value (*function)(Value, Value, Value, Where)) {
    module.def(
        name,
        [function](ValueArgument base, ValueArgument indices, ValueArgument rows) {
          const Where where = python_line();
          return function(value_of(base.object, where), value_of(indices.object, where),
                          value_of(rows.object, where), where);
        },
        nb::arg("base"), nb::arg("indices"), nb::arg("rows"), doc);
  };
  add_scatter("scatter", "`base` with rows (axis 0) replaced; index -1 writes nothing.", &scatter);
  add_scatter("scatter_add", "`base` with rows (axis 0) added.", &scatter_add);
}

void bind_lengths(nb::module_& module) {
  module.def(
      "valid_steps",
      [](ValueArgument lengths, int64_t steps) {
        const Where where = python_line();
        return valid_steps(value_of(lengths.object, where), steps, where);
      },
      nb::arg("lengths"), nb::arg("steps"),
      "For integers [batch]: bool [steps, batch], true before each row's end.");
  const auto add = [&](const char* name, const char* doc, Value (*function)(Value, Value, Where)) {
    module.def(
        name,
        [function](ValueArgument x, ValueArgument lengths) {
          const Where where = python_line();
          return function(value_of(x.object, where), value_of(lengths.object, where), where);
        },
        nb::arg("x"), nb::arg("lengths"), doc);
  };
  add("mask_steps", "x [steps, batch, ...] with 0 past the end of each row.", &mask_steps);
  add("mean_over_steps", "The mean of x [steps, batch, ...] over the valid steps.",
      &mean_over_steps);
}

/// The stacked results in the form in which the body returned one step of them.
nb::object like(nb::handle emitted, const Values& stacked) {
  if (emitted.is_none()) return nb::none();
  if (is_value(emitted)) return nb::cast(stacked[0]);
  nb::list list;
  for (Value value : stacked) list.append(nb::cast(value));
  return PyTuple_Check(emitted.ptr()) ? nb::object(nb::tuple(list)) : nb::object(list);
}

nb::object run_scan(nb::handle streams, nb::handle body, nb::handle lengths, bool reverse,
                    int64_t save_every) {
  const Where where = python_line();
  ScanOptions options{.reverse = reverse, .save_every = save_every};
  if (!lengths.is_none()) options.lengths = value_of(lengths, where, "lengths, a value");
  if (!PyCallable_Check(body.ptr())) {
    throw input_error(where, "scan: the body is a function of one step: found {}", type_text(body));
  }
  const bool counted = PyLong_Check(streams.ptr()) && !PyBool_Check(streams.ptr());
  Values values;
  if (is_value(streams)) {
    values = {value_of(streams, where)};
  } else if (!counted) {
    values = values_of(streams, where);
  }
  const int64_t steps = counted ? nb::cast<int64_t>(streams) : 0;
  nb::object emitted;
  auto trace = counted ? std::make_unique<detail::ScanTrace>(values, steps, options, where)
                       : std::make_unique<detail::ScanTrace>(values, options, where);
  if (counted) {
    emitted = body(step_index(where));
  } else {
    nb::list slices;
    for (Value slice : trace->slices()) slices.append(nb::cast(slice));
    emitted = body(*nb::tuple(slices));
  }
  Values emits;
  if (is_value(emitted)) {
    emits = {value_of(emitted, where)};
  } else if (!emitted.is_none()) {
    emits = values_of(emitted, where);
  }
  return like(emitted, trace->finish(emits));
}

void bind_loops(nb::module_& module) {
  module.def(
      "scan",
      [](nb::handle streams, nb::handle body, nb::handle lengths, bool reverse,
         int64_t save_every) { return run_scan(streams, body, lengths, reverse, save_every); },
      nb::arg("streams"), nb::arg("body"), nb::kw_only(), nb::arg("lengths") = nb::none(),
      nb::arg("reverse") = false, nb::arg("save_every") = 0,
      nb::sig("def scan(streams: int | Value | State | collections.abc.Sequence[Value | State], "
              "body: collections.abc.Callable, *, lengths: Value | State | None = None, "
              "reverse: bool = False, save_every: int = 0) -> typing.Any"),
      "A loop over the steps (axis 0) of one or several streams, or over a number of steps.\n\n"
      "The body is called once, with one step of each stream (or with the step's index). A State "
      "that it assigns is a carry of the loop. What it returns, a value, several or nothing, is "
      "stacked along a new axis 0. `lengths`, integers [batch], ends each row at its own step. For "
      "the derivative, `save_every=n` keeps the states of every n-th step alone and computes the "
      "steps between again: less memory for more time.");
  module.def(
      "step_index", [] { return step_index(python_line()); },
      "The index (i32) of the current step, in the body of a scan.");
}

}  // namespace

void bind_reductions(nb::module_& module) {
  bind_sums(module);
  bind_norms_and_sums(module);
  bind_shapes(module);
  bind_parts(module);
  bind_products(module);
  bind_lengths(module);
  bind_loops(module);
}

}  // namespace graphc::core::python

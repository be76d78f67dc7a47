// SPDX-License-Identifier: Apache-2.0
// Layers: the C++ structs, with their parameters as attributes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

ParamHandle handle(const Param& param) { return {{param.cell()}}; }

nb::object handle(const std::optional<Param>& param) {
  return param ? nb::cast(handle(*param)) : nb::none();
}

LayerOptions options_of(const InitializerArgument& weights, bool bias,
                        const InitializerArgument& biases, Where where) {
  return {.weights = initializer_of(weights.object, glorot_uniform(), where),
          .bias = bias,
          .biases = initializer_of(biases.object, {}, where)};
}

ScanOptions scan_options(nb::handle lengths, bool reverse, Where where) {
  ScanOptions options{.reverse = reverse};
  if (!lengths.is_none()) options.lengths = value_of(lengths, where, "lengths, a value");
  return options;
}

/// A constructor (model, name, in, out, *, weights, bias, biases).
template <typename Layer>
void add_constructor(nb::class_<Layer>& layer, const char* second) {
  layer.def(
      "__init__",
      [](Layer* self, PythonModel& model, const std::string& name, int64_t in, int64_t out,
         InitializerArgument weights, bool bias, InitializerArgument biases) {
        const Where where = python_line();
        const LayerOptions options = options_of(weights, bias, biases, where);
        const nb::gil_scoped_release others;
        new (self) Layer(model.model, name, in, out, options, where);
      },
      nb::arg("model"), nb::arg("name"), nb::arg("input"), nb::arg(second), nb::kw_only(),
      nb::arg("weights") = nb::none(), nb::arg("bias") = true, nb::arg("biases") = nb::none());
}

template <typename Layer>
void add_params(nb::class_<Layer>& layer) {
  layer.def("params", [](const Layer& self) { return self.params(); }, "Its parameters.");
}

constexpr const char* kCallSignature =
    "def __call__(self, xs: Value | State, *, lengths: Value | State | None = None, "
    "reverse: bool = False) -> Value";
constexpr const char* kCallDoc =
    "xs [steps, batch, input] to every h [steps, batch, hidden], from zero states.";

template <typename Layer>
nb::class_<Layer> add_recurrent(nb::module_& module, const char* name, const char* doc) {
  nb::class_<Layer> layer(module, name, doc);
  add_constructor(layer, "hidden");
  add_params(layer);
  layer.def_prop_ro("w", [](const Layer& self) { return handle(self.w); })
      .def_prop_ro("u", [](const Layer& self) { return handle(self.u); })
      .def_prop_ro(
          "b", [](const Layer& self) { return handle(self.b); },
          nb::for_getter(nb::sig("def b(self) -> Param | None")))
      .def(
          "__call__",
          [](const Layer& self, ValueArgument xs, nb::handle lengths, bool reverse) {
            const Where where = python_line();
            return self(value_of(xs.object, where), scan_options(lengths, reverse, where), where);
          },
          nb::arg("xs"), nb::kw_only(), nb::arg("lengths") = nb::none(), nb::arg("reverse") = false,
          nb::sig(kCallSignature), kCallDoc);
  return layer;
}

/// The methods of layers with one state.
template <typename Layer>
void add_steps(nb::class_<Layer> layer) {
  layer.def(
      "step",
      [](const Layer& self, ValueArgument x, StateHandle& h) {
        const Where where = python_line();
        State state = h.state();
        self.step(value_of(x.object, where), state, where);
      },
      nb::arg("x"), nb::arg("h"), "One step of x [batch, input]: assigns the state.");
  layer.def(
      "run",
      [](const Layer& self, ValueArgument xs, StateHandle& h, nb::handle lengths, bool reverse) {
        const Where where = python_line();
        State state = h.state();
        return self.run(value_of(xs.object, where), state, scan_options(lengths, reverse, where),
                        where);
      },
      nb::arg("xs"), nb::arg("h"), nb::kw_only(), nb::arg("lengths") = nb::none(),
      nb::arg("reverse") = false,
      nb::sig("def run(self, xs: Value | State, h: State, *, lengths: Value | State | None = None, "
              "reverse: bool = False) -> Value"),
      "Every h; the state goes on from its value, and has that of the last step afterwards.");
}

void add_steps_of_lstm(nb::class_<Lstm> layer) {
  layer.def(
      "step",
      [](const Lstm& self, ValueArgument x, StateHandle& h, StateHandle& c) {
        const Where where = python_line();
        State first = h.state(), second = c.state();
        self.step(value_of(x.object, where), first, second, where);
      },
      nb::arg("x"), nb::arg("h"), nb::arg("c"),
      "One step of x [batch, input]: assigns the states.");
  layer.def(
      "run",
      [](const Lstm& self, ValueArgument xs, StateHandle& h, StateHandle& c, nb::handle lengths,
         bool reverse) {
        const Where where = python_line();
        State first = h.state(), second = c.state();
        return self.run(value_of(xs.object, where), first, second,
                        scan_options(lengths, reverse, where), where);
      },
      nb::arg("xs"), nb::arg("h"), nb::arg("c"), nb::kw_only(), nb::arg("lengths") = nb::none(),
      nb::arg("reverse") = false,
      nb::sig("def run(self, xs: Value | State, h: State, c: State, *, "
              "lengths: Value | State | None = None, reverse: bool = False) -> Value"),
      "Every h; the states go on from their values, and have those of the last step afterwards.");
}

void bind_plain_layers(nb::module_& module) {
  const auto call = [](const auto& self, ValueArgument x) {
    const Where where = python_line();
    return self(value_of(x.object, where), where);
  };
  nb::class_<Linear> linear(module, "Linear", "x w + b for x [..., input]: [..., output].");
  add_constructor(linear, "output");
  add_params(linear);
  linear.def_prop_ro("w", [](const Linear& self) { return handle(self.w); })
      .def_prop_ro(
          "b", [](const Linear& self) { return handle(self.b); },
          nb::for_getter(nb::sig("def b(self) -> Param | None")))
      .def(
          "__call__", [call](const Linear& self, ValueArgument x) { return call(self, x); },
          nb::arg("x"));
  nb::class_<Embedding> embedding(module, "Embedding",
                                  "Integers [...] to rows of a table [..., width].");
  embedding.def(
      "__init__",
      [](Embedding* self, PythonModel& model, const std::string& name, int64_t rows, int64_t width,
         InitializerArgument weights) {
        const Where where = python_line();
        const Initializer draw = initializer_of(weights.object, normal(1), where);
        const nb::gil_scoped_release others;
        new (self) Embedding(model.model, name, rows, width, draw, where);
      },
      nb::arg("model"), nb::arg("name"), nb::arg("rows"), nb::arg("width"), nb::kw_only(),
      nb::arg("weights") = nb::none());
  add_params(embedding);
  embedding.def_prop_ro("table", [](const Embedding& self) { return handle(self.table); })
      .def(
          "__call__", [call](const Embedding& self, ValueArgument x) { return call(self, x); },
          nb::arg("indices"));
}

void bind_norms(nb::module_& module) {
  const auto call = [](const auto& self, ValueArgument x) {
    const Where where = python_line();
    return self(value_of(x.object, where), where);
  };
  nb::class_<LayerNorm> norm(module, "LayerNorm",
                             "Normalises the last axis, then applies gain and bias.");
  norm.def(
      "__init__",
      [](LayerNorm* self, PythonModel& model, const std::string& name, int64_t width) {
        const Where where = python_line();
        const nb::gil_scoped_release others;
        new (self) LayerNorm(model.model, name, width, where);
      },
      nb::arg("model"), nb::arg("name"), nb::arg("width"));
  add_params(norm);
  norm.def_prop_ro("gain", [](const LayerNorm& self) { return handle(self.gain); })
      .def_prop_ro("bias", [](const LayerNorm& self) { return handle(self.bias); })
      .def(
          "__call__", [call](const LayerNorm& self, ValueArgument x) { return call(self, x); },
          nb::arg("x"));
  nb::class_<Dropout>(module, "Dropout", "dropout() with a fixed share.")
      .def(
          "__init__",
          [](Dropout* self, std::optional<double> rate, std::optional<double> keep) {
            const DropoutShare share{rate, keep};
            share.kept(python_line());
            new (self) Dropout(share);
          },
          nb::kw_only(), nb::arg("rate") = nb::none(), nb::arg("keep") = nb::none())
      .def(
          "__call__", [call](const Dropout& self, ValueArgument x) { return call(self, x); },
          nb::arg("x"));
}

}  // namespace

void bind_layers(nb::module_& module) {
  bind_plain_layers(module);
  bind_norms(module);
  add_steps_of_lstm(add_recurrent<Lstm>(
      module, "Lstm",
      "i, f, g, o = x w + b + h u; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) "
      "tanh(c)."));
  auto gru = add_recurrent<Gru>(
      module, "Gru",
      "The GRU of PyTorch and cuDNN: r, z = sigmoid(x w + b + h u); n = tanh(x w_n + b_n + r (h "
      "u_n + c)); h = (1 - z) n + z h.");
  gru.def_prop_ro(
      "c", [](const Gru& self) { return handle(self.c); },
      nb::for_getter(nb::sig("def c(self) -> Param | None")));
  add_steps(gru);
  add_steps(add_recurrent<Rnn>(module, "Rnn", "h = tanh(x w + b + h u)."));
}

}  // namespace graphc::core::python

// SPDX-License-Identifier: Apache-2.0
// Models: declarations of parameters and states, graphs as Python functions.
#include <nanobind/stl/map.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"
#include "ir/dot.h"
#include "ir/spelling.h"
#include "passes/pipeline.h"

namespace graphc::core::python {

Inputs& PythonInputs::open(Where where) const {
  if (inputs != nullptr) return *inputs;
  throw input_error(where,
                    "the inputs of a graph are used after its function has returned: they are "
                    "known while it is traced");
}

Results results_of(nb::handle object, Where where) {
  Results results;
  if (object.is_none()) return results;
  if (is_value(object)) {
    results.values = {value_of(object, where)};
  } else if (PyDict_Check(object.ptr())) {
    for (auto [name, value] : nb::borrow<nb::dict>(object)) {
      if (!nb::isinstance<nb::str>(name))
        throw input_error(where, "a result's name is a text: found {}", type_text(name));
      results.names.push_back(nb::cast<std::string>(name));
      if (results.names.back().empty())
        throw input_error(where, "result {} has an empty name", results.values.size());
      results.values.push_back(value_of(value, where));
    }
  } else {
    results.values = values_of(object, where);
  }
  return results;
}

namespace {

/// The garbage collector looks at the functions of a model's graphs, whose closures often refer to
/// the model.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const nb::object& function : nb::inst_ptr<PythonModel>(self)->functions)
    Py_VISIT(function.ptr());
  return 0;
}

int clear(PyObject* self) {
  // The model's graphs stay declared: running one afterwards is an error, not a crash.
  for (nb::object& function : nb::inst_ptr<PythonModel>(self)->functions) function.reset();
  return 0;
}

PyType_Slot model_slots[] = {{Py_tp_traverse, (void*)traverse}, {Py_tp_clear, (void*)clear}, {}};

/// Runs the function of a graph while it is traced, which a session does without the lock.
Results traced(const PythonModel& model, size_t place, Inputs& in, Where where) {
  const nb::gil_scoped_acquire lock;
  const nb::object function = model.functions[place];
  if (!function.is_valid()) throw input_error(where, "the model of this graph is gone");
  const nb::object inputs = nb::cast(PythonInputs{&in});
  struct Ended {
    nb::handle inputs;
    ~Ended() { nb::cast<PythonInputs&>(inputs).inputs = nullptr; }
  } ended{inputs};
  return results_of(function(inputs), where);
}

Mode mode_of(const std::string& name, Where where) {
  if (name == "training") return Mode::training;
  if (name == "evaluation") return Mode::evaluation;
  throw input_error(where, "mode: wanted 'training' or 'evaluation': found '{}'", name);
}

void add_graph(PythonModel& self, const std::string& name, nb::object function,
               const std::string& mode, Where where) {
  if (!PyCallable_Check(function.ptr())) {
    throw input_error(where, "graph '{}': wanted a function of its inputs: found {}", name,
                      type_text(function));
  }
  const Mode purpose = mode_of(mode, where);
  const size_t place = self.functions.size();
  self.functions.push_back(std::move(function));
  try {
    const nb::gil_scoped_release others;  // another thread may be tracing
    self.model.graph(
        name, purpose, [&self, place, where](Inputs& in) { return traced(self, place, in, where); },
        where);
  } catch (...) {
    self.functions.pop_back();
    throw;
  }
  self.places.insert_or_assign(name, place);
}

nb::object function_of(const PythonModel& self, const std::string& graph) {
  const auto found = self.places.find(graph);
  if (found != self.places.end()) return self.functions[found->second];
  std::vector<std::string> names;
  for (const auto& [name, place] : self.places) names.push_back(name);
  throw input_error(python_line(), "model '{}' has no graph '{}'{}", self.model.name(), graph,
                    did_you_mean(graph, names));
}

ParamHandle add_param(PythonModel& self, const std::string& name, ShapeArgument shape,
                      InitializerArgument initializer) {
  const Where where = python_line();
  const Shape extents = shape_of(shape.object, where);
  const Initializer draw = initializer_of(initializer.object, glorot_uniform(), where);
  const nb::gil_scoped_release others;
  return {{self.model.param(name, extents, draw, where).cell()}};
}

StateHandle add_state(Model& model, const std::string& name, ShapeArgument shape, nb::handle dtype,
                      InitializerArgument initializer, bool transient) {
  const Where where = python_line();
  const Type type{dtype_of(dtype, where), shape_of(shape.object, where)};
  const Initializer draw = initializer_of(initializer.object, zeros(), where);
  const nb::gil_scoped_release others;
  return {model.state(name, type, draw, {.transient = transient}, where).cell()};
}

constexpr const char* kStateSignature =
    "def state(self, name: str, shape: int | collections.abc.Sequence[int], "
    "dtype: DType = ..., initializer: Initializer | collections.abc.Callable | None = None, "
    "*, transient: bool = False) -> State";
constexpr const char* kStateDoc =
    "A state of the model that is not a parameter, at first zeros. A transient one is only needed "
    "to resume a training.";

Value declare_input(const PythonInputs& self, const std::string& name, nb::handle dtype,
                    nb::handle dims) {
  const Where where = python_line();
  if (nb::isinstance<nb::str>(dims) || !PySequence_Check(dims.ptr())) {
    throw input_error(where, "input '{}': wanted a sequence of extents: found {}", name,
                      type_text(dims));
  }
  std::vector<Dim> all;
  for (nb::handle dim : nb::borrow<nb::sequence>(dims)) {
    if (nb::isinstance<nb::str>(dim)) {
      all.emplace_back(nb::cast<std::string>(dim).c_str());
    } else {
      all.emplace_back(integers_of(dim, where, "an extent: a number or a name")[0]);
    }
  }
  Inputs& inputs = self.open(where);
  const Value value = inputs(name, dtype_of(dtype, where), all, where);
  inputs.expect_matching();
  return value;
}

void bind_inputs(nb::module_& module) {
  nb::class_<PythonInputs>(module, "Inputs",
                           "What the function of a graph is given: call it to declare an input.")
      .def("__call__", &declare_input, nb::arg("name"), nb::arg("dtype"), nb::arg("dims"),
           nb::sig("def __call__(self, name: str, dtype: DType, "
                   "dims: collections.abc.Sequence[int | str]) -> Value"),
           "The next input. An extent is a number, or a name for what the caller passes.")
      .def(
          "extent",
          [](const PythonInputs& self, const std::string& dim) {
            const Where where = python_line();
            return self.open(where).extent(dim, where);
          },
          nb::arg("dim"), "The extent of a dim named so far.")
      .def(
          "length",
          [](const PythonInputs& self, const std::string& dim) {
            const Where where = python_line();
            return self.open(where).length(dim, where);
          },
          nb::arg("dim"), "The caller's extent of a dim, as a value: what `lengths=` takes.")
      .def(
          "state",
          [](const PythonInputs& self, const std::string& name, ShapeArgument shape,
             nb::handle dtype, InitializerArgument initializer, bool transient) {
            const Where where = python_line();
            const Type type{dtype_of(dtype, where), shape_of(shape.object, where)};
            const Initializer draw = initializer_of(initializer.object, zeros(), where);
            return StateHandle{
                self.open(where).state(name, type, draw, {.transient = transient}, where).cell()};
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("dtype") = DType::f32,
          nb::arg("initializer") = nb::none(), nb::kw_only(), nb::arg("transient") = false,
          nb::sig(kStateSignature), kStateDoc)
      .def_prop_ro(
          "training", [](const PythonInputs& self) { return self.open(python_line()).training(); },
          "Whether the graph is for training.");
}

/// The initialisers; those of random numbers share their names with the functions that draw values.
void bind_initializers(nb::module_& module) {
  nb::class_<PythonInitializer>(module, "Initializer",
                                "How the first value of a state is drawn; a function of (key, "
                                "shape, dtype) that returns a value is one too.");
  module.def("zeros", [] { return PythonInitializer{zeros()}; });
  module.def(
      "constant",
      [](nb::handle value) {
        return PythonInitializer{constant(numeral_of(value, python_line()))};
      },
      nb::arg("value"), nb::sig("def constant(value: float) -> Initializer"));
  module.def(
      "uniform", [](double limit) { return PythonInitializer{uniform(limit, python_line())}; },
      nb::arg("limit"), "An initializer: uniform in [-limit, limit).");
  module.def(
      "normal",
      [](double deviation) { return PythonInitializer{normal(deviation, python_line())}; },
      nb::arg("deviation"), "An initializer: normal with mean 0.");
  module.def(
      "glorot_uniform", [] { return PythonInitializer{glorot_uniform()}; },
      "Uniform with limit sqrt(6 / (in + out)) for a matrix [in, out].");
  module.def(
      "orthogonal", [](double gain) { return PythonInitializer{orthogonal(gain, python_line())}; },
      nb::arg("gain") = 1.0, "A random matrix with orthonormal rows or columns.");
  module.def(
      "parts",
      [](nb::sequence initializers) {
        std::vector<Initializer> all;
        for (nb::handle one : initializers)
          all.push_back(initializer_of(one, zeros(), python_line()));
        return PythonInitializer{parts(std::move(all))};
      },
      nb::arg("initializers"),
      "Parts of equal width along the last axis, each with its own initializer.");
}

void add_declarations(nb::class_<PythonModel>& model) {
  model.def(nb::init<const std::string&>(), nb::arg("name"))
      .def_prop_ro("name", [](const PythonModel& self) { return self.model.name(); })
      .def("param", &add_param, nb::arg("name"), nb::arg("shape"),
           nb::arg("initializer") = nb::none(),
           "Declares a parameter (f32); drawn by glorot_uniform() unless another is given.")
      .def(
          "state",
          [](PythonModel& self, const std::string& name, ShapeArgument shape, nb::handle dtype,
             InitializerArgument initializer, bool transient) {
            return add_state(self.model, name, shape, dtype, initializer, transient);
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("dtype") = DType::f32,
          nb::arg("initializer") = nb::none(), nb::kw_only(), nb::arg("transient") = false,
          nb::sig(kStateSignature), kStateDoc)
      .def(
          "graph",
          [](nb::handle self, const std::string& name, nb::object function,
             const std::string& mode) -> nb::object {
            const Where where = python_line();
            PythonModel& model = nb::cast<PythonModel&>(self);
            if (!function.is_none()) {
              add_graph(model, name, function, mode, where);
              return function;
            }
            // A decorator: its own reference to the model ends with it.
            return nb::cpp_function([self = nb::borrow(self), name, mode, where](nb::object body) {
              add_graph(nb::cast<PythonModel&>(self), name, body, mode, where);
              return body;
            });
          },
          nb::arg("name"), nb::arg("function") = nb::none(), nb::kw_only(),
          nb::arg("mode") = "evaluation",
          nb::sig("def graph(self, name: str, function: collections.abc.Callable[[Inputs], "
                  "object] | None = None, *, mode: str = 'evaluation') -> typing.Any"),
          "Adds a graph: a function of Inputs that returns a value, several, a dict of named "
          "values, or nothing. Without the function it is a decorator.");
}

void add_descriptions(nb::class_<PythonModel>& model) {
  model
      .def("function", &function_of, nb::arg("graph"),
           nb::sig("def function(self, graph: str) -> collections.abc.Callable[[Inputs], object]"),
           "The function of a graph, to call it while another one is traced.")
      .def(
          "params",
          [](const PythonModel& self) {
            const nb::gil_scoped_release others;
            return self.model.params();
          },
          "The parameters in the order of declaration.")
      .def("parameter_count",
           [](const PythonModel& self) {
             const nb::gil_scoped_release others;
             return self.model.parameter_count();
           })
      .def(
          "graphs",
          [](const PythonModel& self) {
            const nb::gil_scoped_release others;
            return self.model.graphs();
          },
          "The names of the graphs.")
      .def(
          "states",
          [](const PythonModel& self) {
            const nb::gil_scoped_release others;
            std::vector<std::string> names;
            for (const auto& cell : self.model.states()) names.push_back(cell->name);
            return names;
          },
          "The names of the states that are declared so far, parameters among them.");
}

/// The graph as written, and after each pass that changed it: [(pass, text)].
nb::list graphs_after_passes(PythonModel& self, const std::string& graph, const Extents& extents,
                             const std::string& variant) {
  std::vector<std::pair<std::string, std::string>> stages;
  {
    const nb::gil_scoped_release others;
    const GraphPtr written = self.model.trace(graph, extents).graph;
    stages.emplace_back("(as written)", print(*written));
    PipelineSettings settings;
    settings.after_pass = [&](size_t, const PassUse& use, const GraphPtr& before,
                              const GraphPtr& after) {
      if (after != before) stages.emplace_back(use.pass->name, print(*after));
    };
    const GraphPtr optimized = run_pipeline(written, standard_pipeline(variant), settings).graph;
    run_pipeline(optimized, kernel_pipeline(variant), settings);
  }
  nb::list list;
  for (const auto& [pass, text] : stages) list.append(nb::make_tuple(pass, text));
  return list;
}

/// What a model looks like: text and drawings.
void add_pictures(nb::class_<PythonModel>& model) {
  model
      .def(
          "trace",
          [](PythonModel& self, const std::string& graph, const Extents& extents, bool locations) {
            const nb::gil_scoped_release others;
            return print(*self.model.trace(graph, extents).graph, {.locations = locations});
          },
          nb::arg("graph"), nb::arg("extents") = Extents{}, nb::arg("locations") = false,
          nb::sig("def trace(self, graph: str, extents: dict[str, int] = {}, "
                  "locations: bool = False) -> str"),
          "The graph, for these extents of its named dims, as text.")
      .def("passes", &graphs_after_passes, nb::arg("graph"), nb::arg("extents") = Extents{},
           nb::arg("variant") = "fused",
           nb::sig("def passes(self, graph: str, extents: dict[str, int] = {}, "
                   "variant: str = 'fused') -> list[tuple[str, str]]"),
           "What the compiler makes of the graph: the name of each pass that changes it, and the "
           "graph after it as text, the graph as written in front.")
      .def(
          "summary",
          [](PythonModel& self, const Extents& extents, const std::string& target) {
            const nb::gil_scoped_release others;
            return summarize(self.model, extents, target).text();
          },
          nb::arg("extents") = Extents{}, nb::arg("target") = "",
          nb::sig("def summary(self, extents: dict[str, int] = {}, target: str = '') -> str"),
          "Layers, parameters, graphs and the memory that they need, as text.")
      .def(
          "plot",
          [](PythonModel& self, const std::string& graph, const Extents& extents) {
            std::string dot;
            {
              const nb::gil_scoped_release others;
              dot = to_dot(*self.model.trace(graph, extents).graph);
            }
            return nb::module_::import_("graphc.looking").attr("Drawing")(dot);
          },
          nb::arg("graph"), nb::arg("extents") = Extents{},
          nb::sig("def plot(self, graph: str, extents: dict[str, int] = {}) -> typing.Any"),
          "The graph, for these extents of its named dims, as a graphc.Drawing: a notebook shows "
          "it, and save(\"graph.svg\") writes it, both by graphviz.")
      .def("__repr__", [](const PythonModel& self) {
        const nb::gil_scoped_release others;
        return fmt::format("<graphc.Model '{}': {} parameters, graphs: {}>", self.model.name(),
                           self.model.parameter_count(), fmt::join(self.model.graphs(), ", "));
      });
}

}  // namespace

void bind_models(nb::module_& module) {
  bind_initializers(module);
  bind_inputs(module);
  nb::class_<PythonModel> model(module, "Model", nb::type_slots(model_slots),
                                "Named states and graphs. Graphs are functions, traced for the "
                                "shapes that they are called with.");
  add_declarations(model);
  add_descriptions(model);
  add_pictures(model);
}

}  // namespace graphc::core::python

// SPDX-License-Identifier: Apache-2.0
// Model files, shared graphs and their runners, graphs as text.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"
#include "frontend/python/src/runs.h"

namespace graphc::core::python {
namespace {

void bind_loaded(nb::module_& module) {
  nb::class_<LoadedModel>(module, "LoadedModel", "A model from a file, ready to run.")
      .def(
          "__init__",
          [](LoadedModel* self, const std::string& path, const std::string& target, int threads,
             int device) {
            SessionOptions options;
            options.target = target;
            options.compile.threads = threads;
            CompileOptions of_target;
            options.compile.cuda.device = device_of(core::target(target, of_target), device);
            const nb::gil_scoped_release others;
            new (self) LoadedModel(path, std::move(options));
          },
          nb::arg("path"), nb::kw_only(), nb::arg("target") = "", nb::arg("threads") = 0,
          nb::arg("device") = -1)
      .def(
          "__call__",
          [](LoadedModel& self, const std::string& graph, nb::args inputs, nb::kwargs named) {
            return run_session(self.session(), graph, inputs, named);
          },
          nb::sig("def __call__(self, graph: str, /, *inputs: object, **named: object) -> "
                  "typing.Any"))
      .def_prop_ro(
          "session", [](LoadedModel& self) -> Session& { return self.session(); },
          nb::rv_policy::reference_internal, "For its states, files and profiles.")
      .def("graphs", [](const LoadedModel& self) { return self.model().graphs(); })
      .def("__repr__", [](const LoadedModel& self) {
        return fmt::format("<graphc.LoadedModel '{}': graphs: {}>", self.model().name(),
                           fmt::join(self.model().graphs(), ", "));
      });
  module.def(
      "save",
      [](Session& session, const std::vector<std::string>& graphs, const Extents& extents,
         const std::string& path) {
        const nb::gil_scoped_release others;
        save(session, graphs, extents, path);
      },
      nb::arg("session"), nb::arg("graphs"), nb::arg("extents"), nb::arg("path"),
      nb::sig("def save(session: Session, graphs: collections.abc.Sequence[str], "
              "extents: dict[str, int], path: str) -> None"),
      "Writes graphs, for these extents of their named dims, and the states that they use to one "
      "file, which LoadedModel and the command-line tools run.");
}

void bind_shared(nb::module_& module) {
  nb::class_<Runner>(module, "Runner", "Runs a shared graph on the thread that calls it.")
      .def(
          "__call__",
          [](Runner& self, nb::args inputs, nb::kwargs named) {
            return run_inputs(
                inputs, named, [&](const std::vector<Data>& data) { return self.run(data); },
                [&](const NamedData& data) { return self.run_named(data); });
          },
          nb::sig("def __call__(self, *inputs: object, **named: object) -> typing.Any"))
      .def("reset", &Runner::reset, "Resets the states that the graph writes.");
  nb::class_<SharedGraph>(module, "SharedGraph",
                          "A compiled graph that several threads run at once, each by a runner.")
      .def(
          "__init__",
          [](SharedGraph* self, Session& session, const std::string& graph, nb::sequence inputs) {
            const std::vector<Type> types = types_of(inputs, "SharedGraph", python_line());
            const nb::gil_scoped_release others;
            new (self) SharedGraph(session, graph, types);
          },
          nb::arg("session"), nb::arg("graph"), nb::arg("inputs"))
      .def("runner", &SharedGraph::runner, nb::call_guard<nb::gil_scoped_release>(),
           "A runner, for one thread.");
}

}  // namespace

void bind_files(nb::module_& module) {
  bind_loaded(module);
  bind_shared(module);
}

}  // namespace graphc::core::python

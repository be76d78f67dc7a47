// SPDX-License-Identifier: Apache-2.0
// Graphs with their derivatives as two graphs, for the Python of graphc.torch.
#include "frontend/divided.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/bindings.h"
#include "frontend/python/src/runs.h"
#include "runtime/thread_team.h"

namespace graphc::core::python {
namespace {

nb::list listed(const std::vector<Type>& types) {
  nb::list list;
  for (const Type& type : types)
    list.append(nb::make_tuple(nb::cast(type.dtype), nb::cast(type.shape)));
  return list;
}

const char* word_of(HandedOver::From from) {
  switch (from) {
    case HandedOver::From::input:
      return "input";
    case HandedOver::From::result:
      return "result";
    case HandedOver::From::saved:
      break;
  }
  return "saved";
}

nb::list handed_of(const Divided& self) {
  nb::list handed;
  for (const auto& [from, index] : self.handed())
    handed.append(nb::make_tuple(word_of(from), index));
  return handed;
}

/// The results of a part, as a list of NumPy arrays.
template <typename Run>
nb::list run(nb::args inputs, Run run) {
  const GivenInputs given(inputs);
  std::optional<Outputs> outputs;
  {
    const nb::gil_scoped_release others;
    outputs.emplace(run(given.data()));
  }
  nb::list arrays;
  for (const Tensor& tensor : *outputs) arrays.append(array_of(tensor));
  return arrays;
}

/// Runs a part on the GPU, with results in the caller's memory and in the order of its stream.
template <typename Run>
void run_on_device(nb::handle inputs, nb::handle results, Run run) {
  const Where where = python_line();
  std::deque<Given> given;
  std::vector<AnyTensor> arguments;
  for (nb::handle input : inputs)
    arguments.push_back(
        given.emplace_back(input, fmt::format("input {}", given.size()), where).data().any());
  std::vector<DeviceTensor> outputs;
  for (nb::handle result : results)
    outputs.push_back(device_tensor_of(result, fmt::format("result {}", outputs.size()), where));
  const nb::gil_scoped_release others;
  run(arguments, outputs);
}

bool use_threads_of(const std::string& path) {
  static const std::optional<OpenMp> runtime = OpenMp::of_library(path);
  if (runtime) ThreadTeam::use_threads_of(&*runtime);
  return runtime.has_value();
}

void add_runs(nb::class_<Divided>& divided) {
  divided
      .def("first",
           [](Divided& self, nb::args inputs) {
             return run(inputs, [&](const std::vector<Data>& data) { return self.first(data); });
           })
      .def("second",
           [](Divided& self, nb::args inputs) {
             return run(inputs, [&](const std::vector<Data>& data) { return self.second(data); });
           })
      .def(
          "first_on_device",
          [](Divided& self, uint64_t stream, nb::list inputs, nb::list results) {
            run_on_device(inputs, results, [&](const auto& given, const auto& outputs) {
              self.first_on_device(given, outputs, stream);
            });
          },
          nb::arg("stream"), nb::arg("inputs"), nb::arg("results"))
      .def(
          "second_on_device",
          [](Divided& self, uint64_t stream, nb::list inputs, nb::list results) {
            run_on_device(inputs, results, [&](const auto& given, const auto& outputs) {
              self.second_on_device(given, outputs, stream);
            });
          },
          nb::arg("stream"), nb::arg("inputs"), nb::arg("results"));
}

}  // namespace

void bind_divided(nb::module_& module) {
  nb::class_<Divided> divided(module, "_Divided",
                              "A graph compiled in two parts: its first results, and the others "
                              "from the last `late` inputs "
                              "as well (frontend/divided.h).");
  add_runs(divided);
  divided
      .def(
          "__init__",
          [](Divided* self, Session& session, const std::string& graph, nb::handle inputs,
             size_t results, size_t late, const std::vector<std::string>& parameters) {
            const std::vector<Type> types = types_of(inputs, "_Divided", python_line());
            const nb::gil_scoped_release others;
            new (self) Divided(session, graph, types, parameters, results, late);
          },
          nb::arg("session"), nb::arg("graph"), nb::arg("inputs"), nb::arg("results"),
          nb::arg("late"), nb::arg("parameters") = std::vector<std::string>(),
          nb::keep_alive<1, 2>())
      .def_prop_ro("handed", &handed_of)
      .def_prop_ro("second_types", [](const Divided& self) { return listed(self.second_types()); })
      .def_prop_ro("first_types", [](const Divided& self) { return listed(self.first_types()); });
  module.def("_use_threads_of", &use_threads_of, nb::arg("path"),
             "From now on, steps run on the threads of OpenMP that a loaded library calls; whether "
             "there are any (runtime/thread_team.h).");
  module.def(
      "_interface",
      [](PythonModel& model, const std::string& graph, nb::handle inputs) {
        GivenTypes given;
        for (const Type& type : types_of(inputs, "_interface", python_line())) {
          given.emplace_back(type);
          given.back().converts = true;
        }
        TracedGraph traced;
        {
          const nb::gil_scoped_release others;
          traced = model.model.trace_for(graph, given);
        }
        std::vector<Type> taken, results;
        for (Value input : traced.graph->inputs()) {
          if (!traced.lengths.contains(input.name())) taken.push_back(input.type());
        }
        for (Value result : traced.graph->results()) results.push_back(result.type());
        nb::list names;
        for (const std::string& name : traced.result_names) names.append(name);
        return nb::make_tuple(listed(taken), listed(results), names, traced.inputs,
                              !traced.graph->next().empty());
      },
      nb::arg("model"), nb::arg("graph"), nb::arg("inputs"),
      "The types of a graph's inputs and results for a caller's inputs, the names of the results "
      "and of the inputs, and whether it assigns states.");
}

}  // namespace graphc::core::python

// SPDX-License-Identifier: Apache-2.0
// Sessions: models that run. The interpreter's lock is released while they compile and run.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/arrays.h"
#include "frontend/python/src/bindings.h"
#include "frontend/python/src/runs.h"

namespace graphc::core::python {
namespace {

/// A function that takes the lock to call Python's.
std::function<void(const std::string&)> announcer(nb::handle announce) {
  if (announce.is_none()) {
    return [](const std::string& line) {
      const nb::gil_scoped_acquire lock;
      nb::module_::import_("graphc.errors").attr("announce")(line);
    };
  }
  return [function = kept(announce)](const std::string& line) {
    const nb::gil_scoped_acquire lock;
    (*function)(line);
  };
}

RoundUps round_ups(nb::handle dims, Where where) {
  RoundUps all;
  if (dims.is_none()) return all;
  for (auto [name, function] : nb::borrow<nb::dict>(dims)) {
    if (PyLong_Check(function.ptr())) {
      all.emplace(nb::cast<std::string>(name), to_multiple_of(nb::cast<int64_t>(function)));
      continue;
    }
    if (!PyCallable_Check(function.ptr())) {
      throw input_error(where, "round_up: wanted a number or a function: found {}",
                        type_text(function));
    }
    all.emplace(nb::cast<std::string>(name), [call = kept(function), where](int64_t extent) {
      const nb::gil_scoped_acquire lock;
      return integers_of((*call)(extent), where, "an extent")[0];
    });
  }
  return all;
}

Loading loading_of(const std::string& name) {
  if (name == "strict") return Loading::strict;
  if (name == "partial") return Loading::partial;
  if (name == "exact") return Loading::exact;
  throw input_error(python_line(), "loading: wanted 'strict', 'partial' or 'exact': found '{}'",
                    name);
}

nb::dict report_of(const LoadReport& report) {
  nb::dict lists;
  lists["loaded"] = report.loaded;
  lists["missing"] = report.missing;
  lists["extra"] = report.extra;
  lists["awaited"] = report.awaited;
  return lists;
}

/// What a compilation took.
nb::dict report_of(const CompileReport& report) {
  nb::dict numbers;
  numbers["seconds"] = report.total_s();
  numbers["kernels"] = report.kernels;
  numbers["cache_hits"] = report.cache_hits;
  numbers["peak_bytes"] = report.peak_bytes;
  return numbers;
}

nb::object table_of(const std::vector<KernelTime>& times) {
  nb::list kernels;
  for (const KernelTime& time : times) {
    nb::dict kernel;
    kernel["name"] = time.name;
    kernel["what"] = time.what;
    kernel["file"] = time.where ? nb::object(nb::str(time.where.file)) : nb::none();
    kernel["line"] = time.where ? nb::object(nb::int_(time.where.line)) : nb::none();
    kernel["calls"] = time.calls;
    kernel["seconds"] = time.seconds;
    kernel["flop"] = time.flop;
    kernel["bytes"] = time.bytes;
    kernels.append(kernel);
  }
  return nb::module_::import_("graphc.looking").attr("Profile")(text_of(times), kernels);
}

void add_states(nb::class_<Session>& session) {
  session
      .def(
          "state",
          [](Session& self, const std::string& name) {
            std::optional<Literal> value;
            {
              const nb::gil_scoped_release others;
              value.emplace(self.state(name));
            }
            return array_of(*value);
          },
          nb::arg("name"), nb::sig("def state(self, name: str) -> numpy.ndarray"),
          "A copy of a state's value.")
      .def(
          "set_state",
          [](Session& self, const std::string& name, nb::handle value) {
            const Given given(value, fmt::format("state '{}'", name), python_line());
            const nb::gil_scoped_release others;
            self.set_state(name, given.data());
          },
          nb::arg("name"), nb::arg("value"),
          nb::sig("def set_state(self, name: str, value: object) -> None"),
          "Sets a state to a number, nested lists or an array.")
      .def(
          "reset",
          [](Session& self, const std::string& name) {
            const nb::gil_scoped_release others;
            self.reset(name);
          },
          nb::arg("name"), "Resets a state to its initial value.")
      .def(
          "has_state",
          [](const Session& self, const std::string& name) { return self.has_state(name); },
          nb::arg("name"), "Whether the state has a value yet.")
      .def(
          "save",
          [](Session& self, const std::string& path, bool everything) {
            const nb::gil_scoped_release others;
            self.save(path, everything ? Saving::everything : Saving::model);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("everything") = false,
          "Writes parameters and buffers, or every state, to a safetensors file.")
      .def(
          "load",
          [](Session& self, const std::string& path, const std::string& loading) {
            const Loading how = loading_of(loading);
            LoadReport report;
            {
              const nb::gil_scoped_release others;
              report = self.load(path, how);
            }
            return report_of(report);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("loading") = "strict",
          "Reads the states in a safetensors file: 'strict', 'partial' or 'exact'.");
}

/// A run, and its results as Python has them: every wait() gives the same arrays.
struct PythonPreparedRun {
  PreparedRun run;
  nb::object results;
};

void add_prepare(nb::class_<Session>& session) {
  session.def(
      "prepare",
      [](Session& self, const std::string& graph, nb::args inputs, nb::kwargs named) {
        const auto prepared = [](const auto& given, auto prepare) {
          const nb::gil_scoped_release others;
          return PythonPreparedRun{prepare(given.data()), {}};
        };
        if (nb::len(named) == 0) {
          return prepared(GivenInputs(inputs),
                          [&](const auto& data) { return self.prepare(graph, data); });
        }
        return prepared(GivenByName(inputs, named),
                        [&](const auto& data) { return self.prepare_named(graph, data); });
      },
      nb::keep_alive<0, 1>(),
      nb::sig("def prepare(self, graph: str, /, *inputs: object, **named: object) -> "
              "PreparedRun"),
      "A run whose inputs are copied now, to the GPU if the session has one, where it may work "
      "on a run that was started before. A session keeps the inputs of one run that has not "
      "started.");
}

void add_runs(nb::class_<Session>& session) {
  session
      .def(
          "__call__",
          [](Session& self, const std::string& graph, nb::args inputs, nb::kwargs named) {
            return run_session(self, graph, inputs, named);
          },
          nb::sig("def __call__(self, graph: str, /, *inputs: object, **named: object) -> "
                  "typing.Any"),
          "Runs a graph; its inputs by position or by name. If any input is in the memory of a "
          "GPU, "
          "the results are graphc.DeviceArrays there.")
      .def(
          "compile",
          [](Session& self, const std::string& graph, nb::args inputs) {
            const std::vector<Type> types = types_of(inputs, "compile", python_line());
            CompileReport report;
            {
              const nb::gil_scoped_release others;
              report = self.compile(graph, types);
            }
            return report_of(report);
          },
          nb::sig("def compile(self, graph: str, /, *inputs: tuple[DType, tuple[int, ...]]) -> "
                  "dict[str, float]"),
          "Compiles a graph for inputs of these types, (dtype, shape) each, and says what it took.")
      .def(
          "profile",
          [](Session& self, const std::string& graph, nb::args inputs) {
            const GivenInputs given(inputs);
            std::vector<KernelTime> times;
            {
              const nb::gil_scoped_release others;
              times = self.profile_run(graph, given.data());
            }
            return table_of(times);
          },
          nb::sig("def profile(self, graph: str, /, *inputs: object) -> typing.Any"),
          "Runs a graph twice and gives the times of the kernels of the second run, a "
          "graphc.Profile: text with a line per kernel, a table in a notebook.")
      .def("__repr__",
           [](const Session& self) {
             return fmt::format("<graphc.Session of model '{}': target {}>", self.model().name(),
                                self.target().name);
           })
      .def_prop_ro("target", [](const Session& self) { return std::string(self.target().name); });
}

constexpr const char* kOptionsDoc =
    "target: 'cpu', 'reference' or 'cuda'; the first that runs here unless it is given.\n"
    "device: with target 'cuda', the GPU, counted from 0; -1 is the first.\n"
    "seed: of first values and random numbers. threads: 0 is all cores.\n"
    "precision: 'f32', 'bf16' (factors of products are rounded) or 'f64'.\n"
    "variant: the list of passes; unroll: 'auto', 'loop', 'full' or a number of steps.\n"
    "remat: the states of a loop that are kept for its derivative, 'auto', 'off' (all) or every "
    "so many; recurrence: how linear recurrences of matrices are computed, 'auto', 'steps', "
    "'chunks' or 'chunks=N'; memory: bytes that the values of a step may take, 0 what the machine "
    "has.\n"
    "cpu: the features to compile for, such as 'x86-64-v3'.\n"
    "round_up: dims whose extents are rounded up to a multiple, or by a function.\n"
    "check_finite: results and states are checked after every run.\n"
    "disk_cache: kernels are kept on disk. kept: compiled shapes per graph.\n"
    "trace: a file of events over time for ui.perfetto.dev.\n"
    "announce: is called with each line that the session announces; otherwise on stderr.";

void bind_prepared_run(nb::module_& module) {
  nb::class_<PythonPreparedRun>(
      module, "PreparedRun",
      "A run in parts, by Session.prepare: the inputs of one run go to the GPU while it works on "
      "another.")
      .def(
          "start",
          [](PythonPreparedRun& self) {
            const nb::gil_scoped_release others;
            self.run.start();
          },
          "Begins the run, once the one that was started before has ended, and returns while a "
          "GPU works on it; without a GPU it computes the run.")
      .def(
          "wait",
          [](PythonPreparedRun& self) {
            if (!self.results)
              self.results = run_released([&] { return Outputs(self.run.wait()); });
            return self.results;
          },
          nb::sig("def wait(self) -> typing.Any"),
          "The results, once the run has ended; begins it if need be. Raises what went wrong. "
          "Called again it gives the same arrays.");
}

void bind_session(nb::module_& module) {
  nb::class_<Session> session(
      module, "Session",
      "A model that runs: it owns the states and compiles a graph at the first call with inputs of "
      "new shapes. `session(\"train\", x, y)` gives a NumPy array, or Outputs for several "
      "results.");
  session.def(
      "__init__",
      [](Session* self, PythonModel& model, const std::string& target, int device, uint64_t seed,
         int threads, const std::string& precision, const std::string& variant,
         const std::string& unroll, nb::handle remat, const std::string& recurrence, int64_t memory,
         const std::string& cpu, nb::handle round_up, bool check_finite, bool disk_cache, int kept,
         const std::string& trace, nb::handle announce) {
        const Where where = python_line();
        SessionOptions options;
        options.target = target;
        options.seed = seed;
        options.kept = kept;
        options.check_finite = check_finite;
        options.round_up = round_ups(round_up, where);
        options.announce = announcer(announce);
        options.compile.threads = threads;
        options.compile.variant = variant;
        options.compile.unroll = unroll;
        options.compile.remat = nb::cast<std::string>(nb::str(remat));
        options.compile.recurrence = recurrence;
        options.compile.memory = memory;
        options.compile.architecture = cpu;
        options.compile.disk_cache = disk_cache;
        CompileOptions of_target;
        const Target& on = core::target(target, of_target);
        options.compile.cuda.device = device_of(on, device);
        options.compile.precision = precision_of(on, precision);
        check_variant(on, variant);
        if (!trace.empty()) options.trace = std::make_shared<TraceFile>(trace);
        new (self) Session(model.model, std::move(options));
      },
      nb::arg("model"), nb::kw_only(), nb::arg("target") = "", nb::arg("device") = -1,
      nb::arg("seed") = 0, nb::arg("threads") = 0, nb::arg("precision") = "f32",
      nb::arg("variant") = "fused", nb::arg("unroll") = "auto", nb::arg("remat") = "auto",
      nb::arg("recurrence") = "auto", nb::arg("memory") = 0, nb::arg("cpu") = "",
      nb::arg("round_up") = nb::none(), nb::arg("check_finite") = false,
      nb::arg("disk_cache") = true, nb::arg("kept") = 16, nb::arg("trace") = "",
      nb::arg("announce") = nb::none(), nb::keep_alive<1, 2>(),
      nb::sig(
          "def __init__(self, model: Model, *, target: str = '', device: int = -1, seed: int = 0, "
          "threads: int = 0, precision: str = 'f32', variant: str = 'fused', "
          "unroll: str = 'auto', remat: str | int = 'auto', recurrence: str = 'auto', "
          "memory: int = 0, cpu: str = '', "
          "round_up: dict[str, int | collections.abc.Callable[[int], int]] | None = None, "
          "check_finite: bool = False, disk_cache: bool = True, kept: int = 16, trace: str = '', "
          "announce: collections.abc.Callable[[str], object] | None = None) -> None"),
      kOptionsDoc);
  add_runs(session);
  add_prepare(session);
  add_states(session);
}

}  // namespace

GivenInputs::GivenInputs(nb::args inputs) {
  const Where where = python_line();
  for (nb::handle input : inputs)
    given_.emplace_back(input, fmt::format("input {}", given_.size()), where);
  for (const Given& one : given_) data_.push_back(one.data());
}

GivenByName::GivenByName(nb::args inputs, nb::kwargs named) {
  const Where where = python_line();
  if (nb::len(inputs) > 0)
    throw input_error(where, "inputs are given by position or by name, not both");
  for (auto [name, input] : named) {
    const std::string text = nb::cast<std::string>(nb::borrow<nb::str>(name));
    given_.emplace_back(input, fmt::format("input '{}'", text), where);
    data_.emplace_back(text, given_.back().data());
  }
}

nb::object outputs_of(const Outputs& outputs) {
  if (outputs.size() == 1) return array_of(outputs[0]);
  nb::list arrays;
  for (const Tensor& tensor : outputs) arrays.append(array_of(tensor));
  return nb::module_::import_("graphc.outputs").attr("Outputs")(arrays, outputs.names());
}

nb::object outputs_of(const DeviceOutputs& outputs) {
  if (outputs.tensors.size() == 1) return nb::cast(outputs.tensors[0]);
  nb::list arrays;
  for (const DeviceTensor& tensor : outputs.tensors) arrays.append(nb::cast(tensor));
  return nb::module_::import_("graphc.outputs").attr("Outputs")(arrays, *outputs.names);
}

nb::object run_session(Session& session, const std::string& graph, nb::args inputs,
                       nb::kwargs named) {
  const auto run = [&](const auto& given, auto on_host, auto on_device) {
    return given.has_any_on_device()
               ? run_released([&] { return (session.*on_device)(graph, given.data(), 0); })
               : run_released([&] { return (session.*on_host)(graph, given.data()); });
  };
  using OnHost = Outputs (Session::*)(std::string_view, const std::vector<Data>&);
  if (nb::len(named) == 0)
    return run(GivenInputs(inputs), OnHost(&Session::run), &Session::run_on_device);
  return run(GivenByName(inputs, named), &Session::run_named, &Session::run_named_on_device);
}

int device_of(const Target& on, int device) {
  if (device < -1) {
    throw Error(ErrorKind::usage, python_line(),
                fmt::format("device: wanted a GPU from 0 on: found {}", device));
  }
  if (device >= 0 && &on != &targets::cuda) {
    throw Error(ErrorKind::usage, python_line(),
                fmt::format("device: target '{}' has none", on.name));
  }
  return device;
}

void bind_sessions(nb::module_& module) {
  bind_prepared_run(module);
  bind_session(module);
}

}  // namespace graphc::core::python

// SPDX-License-Identifier: Apache-2.0
// Training: fit, the parts that it is made of, and the order of the data.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/arrays.h"
#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

nb::object array_of_integers(std::span<const int64_t> numbers) {
  return array_of(Tensor(Literal(numbers, {int64_t(numbers.size())})));
}

SampleBatches batches_of(nb::handle object, Where where) {
  if (!PySequence_Check(object.ptr()))
    throw input_error(where,
                      "wanted a list of batches, which are lists of sample numbers: found {}",
                      type_text(object));
  SampleBatches batches;
  for (nb::handle batch : nb::borrow<nb::sequence>(object))
    batches.push_back(integers_of(batch, where, "sample numbers"));
  return batches;
}

nb::list list_of(const SampleBatches& batches) {
  nb::list list;
  for (const std::vector<int64_t>& batch : batches) list.append(array_of_integers(batch));
  return list;
}

/// The inputs of a graph for some samples, from a function of Python; keeps the arrays of the last
/// call, which C++ reads until the next. Made and destroyed with the interpreter's lock.
class PythonInputsOf {
 public:
  PythonInputsOf(nb::handle function, const char* what, Where where)
      : function_(nb::borrow(function)), where_(where) {
    if (!PyCallable_Check(function.ptr())) {
      throw input_error(where, "{}: wanted a function of sample numbers: found {}", what,
                        type_text(function));
    }
  }

  std::vector<Data> operator()(std::span<const int64_t> samples) {
    const nb::gil_scoped_acquire lock;
    const nb::object found = function_(array_of_integers(samples));
    given_.clear();
    if (PyTuple_Check(found.ptr()) || PyList_Check(found.ptr())) {
      for (nb::handle one : nb::borrow<nb::sequence>(found)) take(one);
    } else {
      take(found);
    }
    std::vector<Data> data;
    for (const Given& one : given_) data.push_back(one.data());
    return data;
  }

 private:
  void take(nb::handle one) {
    given_.emplace_back(one, fmt::format("input {}", given_.size()), where_);
  }

  nb::object function_;
  Where where_;
  std::deque<Given> given_;
};

/// What Ctrl-C asked for meanwhile.
void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// Functions of Python that fit() calls, which may be None. Lives as long as the call.
struct FitFunctions {
  PythonInputsOf inputs;
  nb::handle order, validate, after_step, after_epoch, stop;

  void add_to(FitOptions& options, Where where) {
    options.inputs = [this](std::span<const int64_t> samples) { return inputs(samples); };
    if (!order.is_none()) {
      options.order = [this, where](int64_t epoch) {
        const nb::gil_scoped_acquire lock;
        return batches_of(nb::object(order(epoch)), where);
      };
    }
    if (!validate.is_none()) {
      options.validate = [this] {
        const nb::gil_scoped_acquire lock;
        return nb::cast<double>(nb::float_(nb::object(validate())));
      };
    }
    options.after_step = [this](const FitStep& step) {
      const nb::gil_scoped_acquire lock;
      if (!after_step.is_none()) after_step(step);
      check_signals();
    };
    if (!after_epoch.is_none()) {
      options.after_epoch = [this](const FitEpoch& epoch) {
        const nb::gil_scoped_acquire lock;
        after_epoch(epoch);
      };
    }
    if (!stop.is_none()) {
      options.stop = [this] {
        const nb::gil_scoped_acquire lock;
        return nb::cast<bool>(nb::bool_(nb::object(stop())));
      };
    }
  }
};

void bind_fit_records(nb::module_& module) {
  nb::class_<FitStep>(module, "FitStep", "A completed training step of fit().")
      .def_ro("epoch", &FitStep::epoch, "From 0.")
      .def_ro("done", &FitStep::done, "Completed steps of this epoch.")
      .def_ro("steps", &FitStep::steps, "Steps per epoch.")
      .def_ro("step", &FitStep::step, "Completed steps since the start of the training.")
      .def_ro("loss", &FitStep::loss);
  nb::class_<FitEpoch>(module, "FitEpoch", "A completed epoch of fit().")
      .def_ro("epoch", &FitEpoch::epoch, "From 0.")
      .def_ro("step", &FitEpoch::step, "Completed steps since the start of the training.")
      .def_ro("loss", &FitEpoch::loss, "The mean over the samples of the epoch.")
      .def_ro("validation", &FitEpoch::validation)
      .def_ro("best", &FitEpoch::best, "Whether it is the best validation so far.");
  nb::class_<FitReport>(module, "FitReport", "The outcome of fit().")
      .def_ro("epochs", &FitReport::epochs, "Completed, with those before it was stopped.")
      .def_ro("steps", &FitReport::steps)
      .def_ro("loss", &FitReport::loss, "Of this call's last epoch.")
      .def_ro("validation", &FitReport::validation, "Of the same epoch.")
      .def_ro("best", &FitReport::best, "The best of all validations.")
      .def_ro("gave_up", &FitReport::gave_up, "Whether `patience` ended it.")
      .def_ro("stopped", &FitReport::stopped, "Whether `stop` ended it.")
      .def("__repr__", [](const FitReport& self) {
        return fmt::format("<graphc.FitReport: {} epochs, {} steps, loss {}, best validation {}>",
                           self.epochs, self.steps, self.loss, self.best);
      });
}

constexpr const char* kFitDoc =
    "Trains the model of a session: runs `graph` on batches of samples until the epochs are done.\n"
    "\n"
    "Samples are numbered from 0. `inputs(samples)` gives the inputs of the graph, a tuple, for "
    "an\n"
    "int64 array of sample numbers. `order(epoch)` gives the batches of an epoch; by default all\n"
    "`samples` shuffled by the session's seed and the epoch. The graph's result `loss`, or its "
    "only\n"
    "one, is the mean over the batch.\n"
    "\n"
    "`validate()` measures the model on other data, such as mean_loss(...); the lowest is the "
    "best,\n"
    "or with `largest` the largest, if it is better by the share `threshold`. `patience` epochs\n"
    "without a better one end the training. `checkpoint` is a file with every state, saved after\n"
    "each epoch and every `checkpoint_every` steps; if it exists the training resumes from it, to\n"
    "the same numbers as if it had not been stopped. `best` is the model with the best "
    "validation,\n"
    "which the session has again at the end. `curve` is a CSV file, `tensorboard` a folder.\n"
    "\n"
    "With `prefetch` the inputs of a step are asked for, and brought to a GPU, while the step "
    "before\n"
    "is computed: before its `after_step` and `stop`.\n"
    "\n"
    "`after_step(FitStep)` and `after_epoch(FitEpoch)` are called then; `stop()` after each step:\n"
    "True saves everything and ends the training. Ctrl-C raises KeyboardInterrupt between two\n"
    "steps, and the session has the state after the last one. docs/training.md says more.";

constexpr const char* kFitSignature =
    "def fit(session: Session, inputs: collections.abc.Callable[[numpy.ndarray], object], *, "
    "samples: int = 0, epochs: int = 10, batch: int = 32, graph: str = 'train', "
    "order: collections.abc.Callable[[int], object] | None = None, "
    "validate: collections.abc.Callable[[], float] | None = None, largest: bool = False, "
    "threshold: float = 0, patience: int = 0, checkpoint: str = '', checkpoint_every: int = 0, "
    "best: str = '', curve: str = '', tensorboard: str = '', name: str = 'fit', "
    "progress: bool = True, prefetch: bool = False, "
    "after_step: collections.abc.Callable[[FitStep], object] | None = None, "
    "after_epoch: collections.abc.Callable[[FitEpoch], object] | None = None, "
    "stop: collections.abc.Callable[[], bool] | None = None) -> FitReport";

void bind_fit(nb::module_& module) {
  using Path = std::filesystem::path;
  module.def(
      "fit",
      [](Session& session, nb::handle inputs, int64_t samples, int64_t epochs, int64_t batch,
         const std::string& graph, nb::handle order, nb::handle validate, bool largest,
         double threshold, int64_t patience, const Path& checkpoint, int64_t checkpoint_every,
         const Path& best, const Path& curve, const Path& tensorboard, const std::string& name,
         bool progress, bool prefetch, nb::handle after_step, nb::handle after_epoch,
         nb::handle stop) {
        const Where where = python_line();
        FitOptions options{.epochs = epochs,
                           .samples = samples,
                           .batch = batch,
                           .inputs = {},
                           .order = {},
                           .graph = graph,
                           .prefetch = prefetch,
                           .validate = {},
                           .largest = largest,
                           .threshold = threshold,
                           .patience = patience,
                           .checkpoint = checkpoint,
                           .checkpoint_every = checkpoint_every,
                           .best = best,
                           .curve = curve,
                           .tensorboard = tensorboard,
                           .name = name,
                           .progress = progress};
        FitFunctions functions{
            {inputs, "fit: inputs", where}, order, validate, after_step, after_epoch, stop};
        functions.add_to(options, where);
        const nb::gil_scoped_release others;
        return fit(session, options, where);
      },
      nb::arg("session"), nb::arg("inputs"), nb::kw_only(), nb::arg("samples") = 0,
      nb::arg("epochs") = 10, nb::arg("batch") = 32, nb::arg("graph") = "train",
      nb::arg("order") = nb::none(), nb::arg("validate") = nb::none(), nb::arg("largest") = false,
      nb::arg("threshold") = 0.0, nb::arg("patience") = 0, nb::arg("checkpoint") = "",
      nb::arg("checkpoint_every") = 0, nb::arg("best") = "", nb::arg("curve") = "",
      nb::arg("tensorboard") = "", nb::arg("name") = "fit", nb::arg("progress") = true,
      nb::arg("prefetch") = false, nb::arg("after_step") = nb::none(),
      nb::arg("after_epoch") = nb::none(), nb::arg("stop") = nb::none(), nb::sig(kFitSignature),
      kFitDoc);
  module.def(
      "mean_loss",
      [](Session& session, const std::string& graph, nb::handle batches, nb::handle inputs) {
        const Where where = python_line();
        const SampleBatches samples = batches_of(batches, where);
        PythonInputsOf inputs_of(inputs, "mean_loss: inputs", where);
        const nb::gil_scoped_release others;
        return mean_loss(session, graph, samples, std::ref(inputs_of), where);
      },
      nb::arg("session"), nb::arg("graph"), nb::arg("batches"), nb::arg("inputs"),
      nb::sig("def mean_loss(session: Session, graph: str, batches: object, "
              "inputs: collections.abc.Callable[[numpy.ndarray], object]) -> float"),
      "The mean loss over all samples of all batches; the graph's result `loss`, or its only one, "
      "is that of a batch, and `inputs(samples)` gives its inputs.");
}

void bind_orders(nb::module_& module) {
  module.def(
      "shuffled",
      [](int64_t count, uint64_t seed, int64_t epoch) {
        return array_of_integers(shuffled(count, seed, epoch));
      },
      nb::arg("count"), nb::arg("seed"), nb::arg("epoch"),
      nb::sig("def shuffled(count: int, seed: int, epoch: int) -> numpy.ndarray"),
      "The numbers below `count` in a random order, the same on every machine.");
  module.def(
      "in_batches",
      [](nb::handle order, int64_t batch) {
        return list_of(in_batches(integers_of(order, python_line(), "sample numbers"), batch));
      },
      nb::arg("order"), nb::arg("batch"),
      nb::sig("def in_batches(order: object, batch: int) -> list[numpy.ndarray]"),
      "Batches of consecutive samples of an order; the last one has the remainder.");
  module.def(
      "batches_by_length",
      [](nb::handle order, nb::handle lengths, int64_t batch) {
        const Where where = python_line();
        return list_of(batches_by_length(integers_of(order, where, "sample numbers"),
                                         integers_of(lengths, where, "lengths"), batch));
      },
      nb::arg("order"), nb::arg("lengths"), nb::arg("batch"),
      nb::sig("def batches_by_length(order: object, lengths: object, batch: int) -> "
              "list[numpy.ndarray]"),
      "Batches of samples of similar length, which need little padding; `lengths` has that of "
      "every sample.");
}

void bind_counters(nb::module_& module) {
  nb::class_<KeptCounter>(module, "KeptCounter",
                          "An integer that is saved with the session, such as the epochs done.")
      .def(
          "__init__",
          [](KeptCounter* self, Session& session, std::string name) {
            new (self) KeptCounter(session, std::move(name), python_line());
          },
          nb::arg("session"), nb::arg("name"), nb::keep_alive<1, 2>())
      .def_prop_rw(
          "value", &KeptCounter::value, [](KeptCounter& self, int64_t value) { self = value; },
          "Begins at 0.")
      .def("__int__", &KeptCounter::value)
      .def("__index__", &KeptCounter::value)
      .def("__repr__", [](const KeptCounter& self) {
        return fmt::format("<graphc.KeptCounter: {}>", self.value());
      });
  nb::class_<EarlyStopping>(module, "EarlyStopping",
                            "Ends a training when a measurement has not improved for `patience` "
                            "measurements. Its numbers are saved with the session.")
      .def(
          "__init__",
          [](EarlyStopping* self, Session& session, int64_t patience, double threshold,
             bool largest, std::string name) {
            new (self) EarlyStopping(session, {patience, threshold, largest, std::move(name)},
                                     python_line());
          },
          nb::arg("session"), nb::kw_only(), nb::arg("patience") = 10, nb::arg("threshold") = 0.0,
          nb::arg("largest") = false, nb::arg("name") = "early_stopping", nb::keep_alive<1, 2>())
      .def("observe", &EarlyStopping::observe, nb::arg("measured"),
           "Records a measurement; whether it is the best so far.")
      .def("stops", &EarlyStopping::stops, "Whether to stop.")
      .def_prop_ro("waited", &EarlyStopping::waited, "The measurements since the best.")
      .def_prop_ro("best", &EarlyStopping::best, "NaN before the first measurement.");
  nb::class_<Plateau>(module, "Plateau",
                      "A rate that is multiplied by `factor` after more than `patience` "
                      "measurements in a row without an improvement, as by PyTorch's "
                      "ReduceLROnPlateau. The rate is an input of the graph.")
      .def(
          "__init__",
          [](Plateau* self, Session& session, double rate, double factor, int patience,
             double threshold, int cooldown, double lowest, bool largest, std::string name) {
            const PlateauOptions options{factor, patience, threshold,      cooldown,
                                         lowest, largest,  std::move(name)};
            new (self) Plateau(session, rate, options, python_line());
          },
          nb::arg("session"), nb::arg("rate"), nb::kw_only(), nb::arg("factor") = 0.1,
          nb::arg("patience") = 10, nb::arg("threshold") = 1e-4, nb::arg("cooldown") = 0,
          nb::arg("lowest") = 0.0, nb::arg("largest") = false, nb::arg("name") = "plateau",
          nb::keep_alive<1, 2>())
      .def("observe", &Plateau::observe, nb::arg("measured"),
           "Records a measurement; gives the new rate.")
      .def_prop_ro("rate", &Plateau::rate);
}

void bind_checkpoints(nb::module_& module) {
  using Path = std::filesystem::path;
  nb::class_<BestCheckpoint>(module, "BestCheckpoint",
                             "A file with the parameters and buffers at the best measurement.")
      .def(
          "__init__",
          [](BestCheckpoint* self, Session& session, const Path& path, double threshold,
             bool largest, std::string name) {
            new (self)
                BestCheckpoint(session, path, {threshold, largest, std::move(name)}, python_line());
          },
          nb::arg("session"), nb::arg("path"), nb::kw_only(), nb::arg("threshold") = 0.0,
          nb::arg("largest") = false, nb::arg("name") = "best_checkpoint", nb::keep_alive<1, 2>())
      .def("observe", &BestCheckpoint::observe, nb::arg("measured"),
           "Records a measurement; if it is the best so far, writes the file and gives True.")
      .def("restore", &BestCheckpoint::restore,
           "Loads the file into the session; False before the first measurement.")
      .def_prop_ro("best", &BestCheckpoint::best, "NaN before the first measurement.");
  nb::class_<LastCheckpoint>(module, "LastCheckpoint",
                             "A file with every state of a session, written again as training "
                             "goes on. Make it after all objects that keep numbers.")
      .def(nb::init<Session&, Path>(), nb::arg("session"), nb::arg("path"), nb::keep_alive<1, 2>())
      .def("resume", &LastCheckpoint::resume, "Resumes from the file; False if there is none.")
      .def("save", &LastCheckpoint::save, "Writes the file.");
}

void bind_figures(nb::module_& module) {
  nb::class_<Curve>(module, "Curve", "Rows of numbers in a CSV file, which it goes on with.")
      .def(nb::init<std::filesystem::path, std::vector<std::string>>(), nb::arg("path"),
           nb::arg("columns"))
      .def("add", &Curve::add, nb::arg("row"), "A number for each column; NaN for none.")
      .def("draw", &Curve::draw, nb::arg("path"),
           "Plots the columns against the first one, as an SVG file.");
  nb::class_<TensorBoard>(module, "TensorBoard",
                          "Figures of steps in a folder, for `tensorboard --logdir`.")
      .def(nb::init<const std::filesystem::path&>(), nb::arg("folder"))
      .def(
          "add",
          [](TensorBoard& self, int64_t step, const std::map<std::string, double>& figures) {
            self.add(step, {figures.begin(), figures.end()});
          },
          nb::arg("step"), nb::arg("figures"), "Adds {\"loss\": loss}: a curve for each name.");
}

}  // namespace

void bind_training(nb::module_& module) {
  bind_fit_records(module);
  bind_fit(module);
  bind_orders(module);
  bind_counters(module);
  bind_checkpoints(module);
  bind_figures(module);
}

}  // namespace graphc::core::python

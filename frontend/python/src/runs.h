// SPDX-License-Identifier: Apache-2.0
// Runs of graphs with inputs from Python, by position or by name.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <type_traits>

#include "frontend/python/src/arguments.h"
#include "frontend/python/src/arrays.h"
#include "frontend/session.h"

namespace graphc::core::python {

/// The inputs of a call by position; keeps the caller's arrays alive.
class GivenInputs {
 public:
  explicit GivenInputs(nb::args inputs);

  const std::vector<Data>& data() const { return data_; }
  bool has_any_on_device() const { return std::ranges::any_of(given_, &Given::is_on_device); }

 private:
  std::deque<Given> given_;
  std::vector<Data> data_;
};

/// The same by name. Throws ErrorKind::input if there are inputs by position as well.
class GivenByName {
 public:
  GivenByName(nb::args inputs, nb::kwargs named);

  const NamedData& data() const { return data_; }
  bool has_any_on_device() const { return std::ranges::any_of(given_, &Given::is_on_device); }

 private:
  std::deque<Given> given_;
  NamedData data_;
};

/// A NumPy array for one result, otherwise a graphc.Outputs; of results on a GPU,
/// graphc.DeviceArray.
nb::object outputs_of(const Outputs& outputs);
nb::object outputs_of(const DeviceOutputs& outputs);

/// Calls `run` without the interpreter's lock, and gives its outputs.
template <typename Run>
nb::object run_released(Run run) {
  std::optional<std::invoke_result_t<Run>> outputs;
  {
    const nb::gil_scoped_release others;
    outputs.emplace(run());
  }
  return outputs_of(*outputs);
}

/// Runs a graph: `run` with inputs by position, `run_named` by name.
template <typename Run, typename RunNamed>
nb::object run_inputs(nb::args inputs, nb::kwargs named, Run run, RunNamed run_named) {
  if (nb::len(named) == 0) {
    const GivenInputs given(inputs);
    return run_released([&] { return run(given.data()); });
  }
  const GivenByName given(inputs, named);
  return run_released([&] { return run_named(given.data()); });
}

/// Runs a graph of a session: on its GPU if any input is there.
nb::object run_session(Session& session, const std::string& graph, nb::args inputs,
                       nb::kwargs named);

}  // namespace graphc::core::python

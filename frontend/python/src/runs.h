// SPDX-License-Identifier: Apache-2.0
// Runs of graphs with inputs from Python, by position or by name.
#pragma once

#include <deque>

#include "frontend/python/src/arguments.h"
#include "frontend/python/src/arrays.h"
#include "frontend/session.h"

namespace graphc::core::python {

/// The inputs of a call by position; keeps the caller's arrays alive.
class GivenInputs {
 public:
  explicit GivenInputs(nb::args inputs);

  const std::vector<Data>& data() const { return data_; }

 private:
  std::deque<Given> given_;
  std::vector<Data> data_;
};

/// A NumPy array for one result, otherwise a graphc.Outputs.
nb::object outputs_of(const Outputs& outputs);

/// Runs a graph without the interpreter's lock: `run` with inputs by position, `run_named` by name.
template <typename Run, typename RunNamed>
nb::object run_inputs(nb::args inputs, nb::kwargs named, Run run, RunNamed run_named) {
  std::optional<Outputs> outputs;
  if (nb::len(named) == 0) {
    const GivenInputs given(inputs);
    {
      const nb::gil_scoped_release others;
      outputs.emplace(run(given.data()));
    }
    return outputs_of(*outputs);
  }
  const Where where = python_line();
  if (nb::len(inputs) > 0)
    throw input_error(where, "inputs are given by position or by name, not both");
  std::deque<Given> given;
  NamedData data;
  for (auto [name, input] : named) {
    const std::string text = nb::cast<std::string>(nb::borrow<nb::str>(name));
    given.emplace_back(input, fmt::format("input '{}'", text), where);
    data.emplace_back(text, given.back().data());
  }
  {
    const nb::gil_scoped_release others;
    outputs.emplace(run_named(data));
  }
  return outputs_of(*outputs);
}

}  // namespace graphc::core::python

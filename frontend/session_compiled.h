// SPDX-License-Identifier: Apache-2.0
// What a session keeps of a graph that it has compiled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/arguments.h"
#include "frontend/output_buffers.h"
#include "frontend/session.h"

namespace graphc::core {

/// A graph compiled for inputs of these types.
struct Session::Compiled {
  std::string graph;
  GivenTypes inputs;
  InputRules rules;
  Outputs::Names result_names;
  std::unique_ptr<Executable> executable;
  std::vector<StoredState*> states;  ///< owned by the session
  OutputBuffers outputs;
  CompileReport report;
  std::vector<DType> declared;  ///< of the caller's inputs
  int64_t traced_runs = 0;      ///< runs whose kernels are in the trace
  GraphPtr traced;              ///< with SessionOptions::check_finite

  /// Whether these inputs have, or can be converted to, the graph's types.
  bool takes(const GivenTypes& given) const {
    if (given == inputs) return true;
    if (given.size() != declared.size()) return false;
    for (size_t i = 0; i < given.size(); ++i) {
      const DType found = given[i].type.dtype;
      if (given[i].type.shape != inputs[i].type.shape) return false;
      if (found != declared[i] && !Data::fits(found, declared[i], given[i].converts)) return false;
    }
    return true;
  }
};

}  // namespace graphc::core

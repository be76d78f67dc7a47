// SPDX-License-Identifier: Apache-2.0
// What a session keeps of a graph that it has compiled.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/arguments.h"
#include "frontend/output_buffers.h"
#include "frontend/session.h"

namespace graphc::core {

/// A call of a public function: this thread uses the session, and no started run goes on.
class Session::Call {
 public:
  explicit Call(Session& session) : inside_(session.inside()) { session.end_started(); }

 private:
  OneThread::Inside inside_;
};

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

  /// What a caller gets of results: of the types that are `shown`, unless there are none.
  Outputs outputs_of(const std::vector<Tensor>& found, const std::vector<Type>& shown) const;

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

/// A run before it begins.
struct Session::Arranged {
  CompiledPtr graph;
  std::vector<Tensor> inputs;
  std::vector<Type> results;  ///< the caller's, where they are cut; otherwise empty
};

struct PreparedRun::Parts {
  enum class At : uint8_t { prepared, replaced, started, ended };

  Session* session = nullptr;
  std::weak_ptr<const void> lives;  ///< expires with the session
  std::string graph;
  Session::Arranged run;
  At at = At::prepared;
  std::vector<Tensor> found;  ///< written by the run
  double begun = 0;
  std::optional<Outputs> outputs;
  std::exception_ptr error;

  /// The run needs nothing of the session any more.
  void end(At now = At::ended) {
    at = now;
    run = {};
    found.clear();
  }
};

}  // namespace graphc::core

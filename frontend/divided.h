// SPDX-License-Identifier: Apache-2.0
// A graph with its derivative as two compiled graphs, for frameworks that run a backward function
// later: PyTorch, JAX. The first returns, behind its results, what the second needs of it
// (passes/divided_graph.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/arguments.h"
#include "frontend/session.h"
#include "passes/divided_graph.h"

namespace graphc::core {

/// Two compiled graphs with the states of a session, and one thread at a time in them and it.
class Divided {
 public:
  /// Traces a graph of the session's model for inputs of these types, divides what the passes of
  /// the session's options make of it, and compiles both parts. The last `late` inputs are known
  /// only after the first `results` results; the other results, gradients, are those of the second
  /// part. Without late inputs, and with all results, there is only the first part.
  ///
  /// `parameters` are states that become inputs in front of the others; they are not assigned. The
  /// session must outlive this. Throws ErrorKind::input for a graph that cannot be divided so, and
  /// what Session::compile() throws.
  Divided(Session& session, const std::string& graph, const std::vector<Type>& inputs,
          const std::vector<std::string>& parameters, size_t results, size_t late);
  Divided(const Divided&) = delete;

  /// Inputs: `parameters`, then those of the graph without the late ones. Gives the results, then
  /// what is saved. Throws ErrorKind::input for inputs of other types.
  Outputs first(const std::vector<Data>& inputs) { return run(first_, inputs); }
  /// Inputs: what handed() lists, then the late ones. Gives the other results.
  Outputs second(const std::vector<Data>& inputs) { return run(second_, inputs); }

  /// Where the inputs of the second part are from, before the late ones.
  const std::vector<HandedOver>& handed() const { return handed_; }
  /// The types of what the first part gives: results, then saved values.
  std::vector<Type> first_types() const;

 private:
  /// One of the parts.
  struct Part {
    std::string name;
    std::unique_ptr<Executable> executable;
    std::vector<StoredState*> states;  ///< owned by the session
    std::vector<Tensor> outputs;       ///< of the last run; reused if nobody else holds them
    InputRules rules;
  };
  Part compiled(const GraphPtr& graph, const std::string& name, InputRules rules);
  Outputs run(Part& part, const std::vector<Data>& inputs);

  Session& session_;
  std::weak_ptr<const void> session_lives_;
  Part first_, second_;
  std::vector<HandedOver> handed_;
};

}  // namespace graphc::core

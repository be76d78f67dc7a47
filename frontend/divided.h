// SPDX-License-Identifier: Apache-2.0
// A graph with its derivative as two compiled graphs, for frameworks that run a backward function
// later: PyTorch, JAX. The first returns, behind its results, what the second needs of it
// (passes/divided_graph.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/arguments.h"
#include "frontend/output_buffers.h"
#include "frontend/session.h"
#include "passes/divided_graph.h"

namespace graphc::core {

/// Two compiled graphs with the states of a session, and one thread at a time in them and it.
class Divided {
 public:
  /// Traces a graph of the session's model for inputs of these types, divides what the passes of
  /// the session's options make of it, and compiles both parts. The last `late` inputs are known
  /// only after the first `results` results; the other results, gradients, are those of the second
  /// part. Without late inputs, and with all results, there is only the first part. Announces
  /// notices, as the session would at its first compilation.
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

  /// The same with results in the caller's memory, which are of the types of the part and share
  /// nothing with the inputs or each other.
  void first_into(const std::vector<Tensor>& inputs, std::span<Tensor> results) {
    run_into(first_, inputs, results);
  }
  void second_into(const std::vector<Tensor>& inputs, std::span<Tensor> results) {
    run_into(second_, inputs, results);
  }

  /// The same on the GPU of the session: inputs in its memory or the host's, results in memory of
  /// the caller. They come after the work that is in `stream` now and before what is put into it
  /// later, and are not waited for (Executable::run_on_device()).
  void first_on_device(const std::vector<AnyTensor>& inputs, std::span<const DeviceTensor> results,
                       DeviceStream stream) {
    run_on_device(first_, inputs, results, stream);
  }
  void second_on_device(const std::vector<AnyTensor>& inputs, std::span<const DeviceTensor> results,
                        DeviceStream stream) {
    run_on_device(second_, inputs, results, stream);
  }

  /// Where the inputs of the second part are from, before the late ones.
  const std::vector<HandedOver>& handed() const { return handed_; }
  /// The types of what the first part gives: results, then saved values.
  std::vector<Type> first_types() const;
  /// The types of what the second part gives; none if there is none.
  std::vector<Type> second_types() const;
  Session& session() const { return session_; }
  /// Of both graphs as text and of the options that they are compiled with: the same in every
  /// process.
  uint64_t checksum() const { return checksum_; }

 private:
  /// One of the parts.
  struct Part {
    std::string name;
    std::unique_ptr<Executable> executable;
    std::vector<StoredState*> states;  ///< owned by the session
    OutputBuffers outputs;
    InputRules rules;
  };
  Part compiled(const GraphPtr& graph, const std::string& name, InputRules rules,
                CompileReport& report);
  Outputs run(Part& part, const std::vector<Data>& inputs);
  static std::vector<Type> types_of(const Part& part);
  void run_into(Part& part, const std::vector<Tensor>& inputs, std::span<Tensor> results);
  void run_on_device(Part& part, const std::vector<AnyTensor>& inputs,
                     std::span<const DeviceTensor> results, DeviceStream stream);
  /// Throws unless the part can run with inputs of these types.
  void check(const Part& part, const std::vector<Type>& inputs) const;

  Session& session_;
  std::weak_ptr<const void> session_lives_;
  Part first_, second_;
  std::vector<HandedOver> handed_;
  uint64_t checksum_ = 0;
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Executables: compiled graphs. What a target makes and a session runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/tensor.h"

namespace graphc {

/// One argument or result of an executable; the name is for messages.
struct Argument {
  std::string name;
  Type type;
};

/// What an executable takes and gives, in the order of the graph it was compiled from. The types
/// are those of the stored tensors: under precision f64 the f32 of the graph are f64 here.
struct Signature {
  std::string graph;
  std::vector<Argument> inputs, states, outputs;
};

/// The signature of a graph as it stands.
Signature signature_of(const Graph& graph);

/// A compiled graph. One call at a time; the caller owns every tensor.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const Signature& signature() const { return signature_; }

  /// Computes `outputs` (allocated by the caller, distinct from all else) from inputs and states,
  /// and writes the new values of states in place, after every read of the old ones. Throws
  /// ErrorKind::input, before anything is written, when a tensor is missing or has another type.
  /// A fault found while computing (an index outside its table) is ErrorKind::input too; states may
  /// then hold some of their new values.
  void run(std::span<const Tensor> inputs, std::span<Tensor> states, std::span<Tensor> outputs);

 protected:
  explicit Executable(Signature signature) : signature_(std::move(signature)) {}
  virtual void execute(std::span<const Tensor> inputs, std::span<Tensor> states,
                       std::span<Tensor> outputs) = 0;

 private:
  Signature signature_;
};

}  // namespace graphc

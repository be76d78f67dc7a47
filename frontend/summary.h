// SPDX-License-Identifier: Apache-2.0
// A summary of a model and its compilation: layers, parameters, graphs, planned memory.
#pragma once

#include <string>
#include <vector>

#include "codegen/target.h"
#include "frontend/model.h"

namespace graphc::core {

/// The summary of one graph.
struct GraphSummary {
  std::string name;
  std::vector<std::pair<std::string, Type>> inputs, results;
  int64_t nodes = 0;          ///< nodes in loops are counted once
  int64_t kernels = 0;        ///< compiled kernels; 0 if the target has none
  int64_t recurrent = 0;      ///< loops compiled to one kernel
  int64_t arena_bytes = 0;    ///< planned for everything but inputs, states and results
  std::vector<Remark> loops;  ///< loops not compiled to one kernel, and why
};

struct Summary {
  std::string model;
  std::vector<std::pair<std::string, Type>> parameters, others;  ///< states, by name
  std::vector<GraphSummary> graphs;

  int64_t parameter_count() const;
  /// Takes the states that a model has now: tracing may have declared more.
  void take_states(const Model& from);
  /// A readable text: one line per layer (names up to the last dot), one for other states, and one
  /// per graph.
  std::string text() const;
};

/// Compiles the graph for its shapes and summarises it. Throws what compile() throws.
GraphSummary summarize(const GraphPtr& graph, const std::vector<std::string>& result_names,
                       const Target& target, const CompileOptions& options = {});

/// The model and all its graphs, for given extents of named dims: `print(summarize(model,
/// {{"batch", 32}}))`. Throws what tracing and compile() throw.
Summary summarize(Model& model, const Extents& extents, const std::string& target = {});

/// Writes the text to stdout.
void print(const Summary& summary);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// What a model consists of and what becomes of it: layers, parameters, graphs, planned memory.
#pragma once

#include <string>
#include <vector>

#include "codegen/target.h"
#include "frontend/model.h"

namespace graphc::core {

/// What a summary says of a graph.
struct GraphSummary {
  std::string name;
  std::vector<std::pair<std::string, Type>> inputs, results;
  int64_t nodes = 0;          ///< those in loops counted once
  int64_t kernels = 0;        ///< what they became; 0 where a target forms none
  int64_t recurrent = 0;      ///< loops that are one kernel
  int64_t arena_bytes = 0;    ///< planned for what is neither input, state nor result
  std::vector<Remark> loops;  ///< those that are not, and why
};

struct Summary {
  std::string model;
  std::vector<std::pair<std::string, Type>> parameters, others;  ///< states, by name
  std::vector<GraphSummary> graphs;

  int64_t parameter_count() const;
  /// The states that a model has by now: tracing may have declared some.
  void take_states(const Model& from);
  /// For people: a line for each layer (names up to the last dot), one for other states, and one
  /// for each graph.
  std::string text() const;
};

/// Compiles the graph for its shapes and counts. Throws what compile() throws.
GraphSummary summarize(const GraphPtr& graph, const std::vector<std::string>& result_names,
                       const Target& target, const CompileOptions& options = {});

/// The model and all its graphs, for what named dims stand for: `print(summarize(model,
/// {{"batch", 32}}))`. Throws what tracing and compile() throw.
Summary summarize(Model& model, const Extents& extents, const std::string& target = {});

/// Writes the text to stdout.
void print(const Summary& summary);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Random arguments for a graph: numbers, and indices within their tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "tools/commands/given.h"

namespace graphc::core::commands {

/// Arguments of a graph: inputs in order, states by name.
struct Arguments {
  std::vector<Literal> inputs;
  std::map<std::string, Literal> states;
};

/// The graph with every `grad` expanded, as the evaluator requires.
GraphPtr without_grad(const GraphPtr& graph);

/// For each input of the graph, then each of its states: the number of rows of the smallest table
/// that the value indexes, after moves and integer conversions; 0 if it indexes none. For a graph
/// without `grad`.
std::vector<int64_t> index_limits(const Graph& graph);

/// A floating-point value uniform in [-scale, scale); booleans 0 and 1; other integers uniform in
/// [0, limit), or in [0, 8) if the limit is 0.
Literal draw(const Type& type, uint64_t seed, int64_t limit = 0, double scale = 1);

/// How to draw the arguments of a graph, inputs in order, then states; and arguments that are
/// given.
struct Drawing {
  std::vector<int64_t> limits;  ///< for integers: index_limits()
  std::vector<double> scales;   ///< for floating-point numbers: 1/sqrt of the fan-in for weights
  std::map<std::string, Literal> given;
};

/// The user's options for arguments.
struct ArgumentOptions {
  double scale = 1;  ///< multiplies every drawn floating-point number
  Given given;       ///< for inputs and states, possibly of other graphs
  /// Values of states in the file of the graphs; given values take precedence.
  std::map<std::string, Literal, std::less<>> states;
};

/// How to draw the arguments of the graph. `meaning` is the graph without `grad`. Throws as
/// read_value() does.
Drawing drawing_of(const Graph& graph, const Graph& meaning, const ArgumentOptions& options = {});

/// Draws every input and state, or takes its given value.
Arguments draw_arguments(const Graph& graph, uint64_t seed, const Drawing& drawing);

}  // namespace graphc::core::commands

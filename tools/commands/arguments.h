// SPDX-License-Identifier: Apache-2.0
// Random arguments that a graph takes: numbers, and indices that are inside their tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"
#include "tools/commands/given.h"

namespace graphc::core::commands {

/// Arguments of a graph: of its inputs in order, then its states by name.
struct Arguments {
  std::vector<Literal> inputs;
  std::map<std::string, Literal> states;
};

/// The graph with every `grad` replaced by what it stands for, as the evaluator takes it.
GraphPtr without_grad(const GraphPtr& graph);

/// For each input of the graph, then each of its states: how many rows the smallest table has that
/// the value, moved or put into other integers, chooses from; 0 where it chooses from none. A graph
/// without `grad`.
std::vector<int64_t> index_limits(const Graph& graph);

/// A floating-point value uniform in [-scale, scale); truth values 0 and 1; other integers uniform
/// in [0, limit), and in [0, 8) when the limit is 0.
Literal draw(const Type& type, uint64_t seed, int64_t limit = 0, double scale = 1);

/// What arguments of a graph are drawn from, its inputs in order, then its states; and those that
/// are not drawn.
struct Drawing {
  std::vector<int64_t> limits;  ///< of integers: index_limits()
  std::vector<double> scales;   ///< of floating-point numbers: a weight's is 1/sqrt of its fan-in
  std::map<std::string, Literal> given;
};

/// What a user says of arguments.
struct ArgumentOptions {
  double scale = 1;  ///< a factor of every floating-point number drawn
  Given given;       ///< of inputs and states, perhaps of other graphs too
  /// Of states, by the file the graphs are from; what is given goes first.
  std::map<std::string, Literal, std::less<>> states;
};

/// How arguments of the graph are drawn. `meaning` is the graph without `grad`. Throws as
/// read_value().
Drawing drawing_of(const Graph& graph, const Graph& meaning, const ArgumentOptions& options = {});

/// Draws every input and state, or takes what is given.
Arguments draw_arguments(const Graph& graph, uint64_t seed, const Drawing& drawing);

}  // namespace graphc::core::commands

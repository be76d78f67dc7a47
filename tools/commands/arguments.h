// SPDX-License-Identifier: Apache-2.0
// Random arguments that a graph takes: numbers, and indices that are inside their tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::commands {

/// Arguments of a graph: of its inputs in order, then its states by name.
struct Arguments {
  std::vector<Literal> inputs;
  std::map<std::string, Literal> states;
};

/// For each input of the graph, then each of its states: how many rows the smallest table has that
/// the value, moved or put into other integers, chooses from; 0 where it chooses from none. A graph
/// without `grad`.
std::vector<int64_t> index_limits(const Graph& graph);

/// Floats uniform in [-1, 1); truth values 0 and 1; other integers uniform in [0, limit), and in
/// [0, 8) when the limit is 0.
Literal draw(const Type& type, uint64_t seed, int64_t limit = 0);

/// Draws every input and state, integers below `limits` as index_limits() has them.
Arguments draw_arguments(const Graph& graph, uint64_t seed, const std::vector<int64_t>& limits);

}  // namespace graphc::commands

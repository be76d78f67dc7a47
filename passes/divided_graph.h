// SPDX-License-Identifier: Apache-2.0
// Divides a graph with its derivative in two graphs that run at different times: the first computes
// the results, the second the gradients, from inputs that are known only then. Other frameworks
// call them so: PyTorch runs a backward function when it has the cotangents.
//
// What the second graph needs of the first is a minimum cut (cut.h): products and loops are never
// computed again, elementwise work is if that saves memory. Inputs and results of the first graph
// cost nothing, because the caller has them.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// An input of the second graph that the caller has after the first one has run.
struct HandedOver {
  enum class From : uint8_t { input, result, saved };
  From from = From::input;
  /// Of the inputs of the first graph, of its results, or of its saved values.
  size_t index = 0;
  bool operator==(const HandedOver&) const = default;
};

struct DividedGraph {
  /// Inputs: those of the divided graph that are known at first. Results: the first results of the
  /// divided graph, then the saved values. Assigns the states.
  GraphPtr first;
  /// Inputs: `handed`, then the late inputs. Results: the other results of the divided graph.
  GraphPtr second;
  std::vector<HandedOver> handed;
  /// The number of saved values.
  size_t saved = 0;
};

/// Divides a graph without `grad` whose last `late` inputs are known only after its first `results`
/// results. Throws ErrorKind::input if one of those results, or the value of a state, depends on a
/// late input.
DividedGraph divided(const Graph& graph, size_t results, size_t late);

}  // namespace graphc::core

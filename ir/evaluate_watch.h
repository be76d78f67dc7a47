// SPDX-License-Identifier: Apache-2.0
// Observes the evaluator node by node and step by step.
#pragma once

#include <functional>

#include "ir/evaluate_ops.h"

namespace graphc::core::evaluation {

/// Receives the evaluator's events in order.
class Watch {
 public:
  virtual ~Watch() = default;
  /// A node begins, nested in the nodes that have begun and not ended.
  virtual void begin(const Node& node) = 0;
  /// The innermost running loop begins step `step`.
  virtual void step(int64_t step) = 0;
  /// The node has ended; `again` recomputes it from other operands of the same types. May set
  /// Array::origins of the results.
  virtual void end(const Node& node, const Arrays& operands, Arrays& results,
                   const std::function<Arrays(const Arrays&)>& again) = 0;
  /// An input or a state of the graph, before anything runs.
  virtual void argument(Value value, Array& array) = 0;
};

/// The values of graph.roots(), as computed by evaluate(), with a watch.
Arrays evaluate_watched(const Graph& graph, const std::vector<Literal>& inputs,
                        const std::map<std::string, Literal>& states, Precision precision,
                        Watch& watch);

}  // namespace graphc::core::evaluation

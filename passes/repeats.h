// SPDX-License-Identifier: Apache-2.0
// Copies of one body that stand one after another in a graph: a loop that somebody wrote out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// One element along an axis, as people write it in a loop that is written out: a slice that is one
/// wide, with or without that axis, or such a part of a split.
struct TakenStep {
  Value from;
  int axis = 0;
  int64_t index = 0;
  bool keeps_axis = false;
};
/// The step that a value is; nothing if it is none.
std::optional<TakenStep> taken_step(Value value);

/// What an operand of a copy is.
struct CopyOperand {
  enum class Kind : uint8_t {
    internal,   ///< a result of this copy
    carried,    ///< a result of the copy before; of the first one, `outside`
    invariant,  ///< `outside` in each
    stream,     ///< a step of `outside`: `index` in the first copy, `by` more in each one after it
  };
  Kind kind = Kind::invariant;
  size_t node = 0;  ///< internal, carried: the place in the body
  int result = 0;
  Value outside;
  std::optional<TakenStep> step;  ///< what is taken of it, where it is not the value itself
  int by = 0;                     ///< stream: 1 or -1
};

/// `copies` copies of a body of `period` nodes.
struct Repeats {
  size_t first = 0;  ///< its place among the nodes of the graph that may be of a copy
  size_t period = 0, copies = 0;
  std::vector<const Node*> nodes;                  ///< copy by copy
  std::vector<std::vector<CopyOperand>> operands;  ///< by node of the body, by operand

  const Node& node(size_t copy, size_t of_body) const { return *nodes[copy * period + of_body]; }
  /// Whether a stream goes backwards: then all do.
  bool reverse() const;
};

/// The repeats of a graph that are worth a loop: at least four copies, with a product, of which
/// each reads what the one before gives, or the next step of something. Steps that are taken
/// (`taken_step`) and constants are no nodes of a copy: they may stand anywhere. Returns the first
/// run from a place on, begun where in its body it hands on the least; nothing where there is none.
std::optional<Repeats> find_repeats(const Graph& graph, size_t from = 0);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Consecutive copies of one body in a graph: a loop that was unrolled by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

/// One element along an axis, as written in an unrolled loop: a slice of width one, with or without
/// that axis, or such a part of a split.
struct TakenStep {
  Value from;
  int axis = 0;
  int64_t index = 0;
  bool keeps_axis = false;
};
/// The step that a value is, if any.
std::optional<TakenStep> taken_step(Value value);

/// The kind of an operand of a copy.
struct CopyOperand {
  enum class Kind : uint8_t {
    internal,   ///< a result of this copy
    carried,    ///< a result of the previous copy; for the first one, `outside`
    invariant,  ///< `outside` in every copy
    stream,     ///< step `index` of `outside` in the first copy, advancing by `by`
  };
  Kind kind = Kind::invariant;
  size_t node = 0;  ///< internal, carried: the index in the body
  int result = 0;
  Value outside;
  std::optional<TakenStep> step;  ///< the step of it that is read, unless it is read whole
  int by = 0;                     ///< stream: 1 or -1
};

/// `copies` copies of a body of `period` nodes.
struct Repeats {
  size_t first = 0;  ///< index among the nodes that can belong to a copy
  size_t period = 0, copies = 0;
  std::vector<const Node*> nodes;                  ///< copy by copy
  std::vector<std::vector<CopyOperand>> operands;  ///< by node of the body and operand

  const Node& node(size_t copy, size_t of_body) const { return *nodes[copy * period + of_body]; }
  /// Whether its streams are read in reverse; then all are.
  bool reverse() const;
};

/// The repeats of a graph that are worth a loop: at least four copies that contain a product, each
/// of which reads results of the previous one or the next step of a stream. Step accesses
/// (`taken_step`) and constants do not belong to a copy: they may be anywhere. Returns the first
/// run at or after `from`, rotated to carry the fewest elements; empty if there is none.
std::optional<Repeats> find_repeats(const Graph& graph, size_t from = 0);

}  // namespace graphc::core

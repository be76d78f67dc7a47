// SPDX-License-Identifier: Apache-2.0
// Shifted histories: what a backward loop reads of a carry is the stack of its next values, moved
// by one step, with the initial value in front.
//
// Lowering matches the nodes of a shifted history; no attribute names it. carry_history()
// (passes/batch.h) makes them for autodiff and for hoist, and the passes behind these treat
// them as any concatenation: cse merges two, simplify joins slices, precision stores them as bf16.
// An attribute would have to be kept right by each of these passes, and a graph that was written by
// hand could set it wrongly. So lowering would check the same three nodes that it matches now. A
// match also finds the history that a user's own graph shifts.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace graphc::core {

/// A kernel that is concat(initial, slice(history, 0, steps - 1)) along axis 0, or, for a loop that
/// runs backwards, concat(slice(history, 1, steps), initial). If the history is allocated with one
/// slot more, next to which it lies, the concatenation is a view: only the slot is written.
struct ShiftedHistory {
  Value history;  ///< [steps, ...], what a scan emits
  Value initial;  ///< [1, ...]
  bool front;     ///< the slot lies before the history

  bool operator==(const ShiftedHistory&) const = default;
};

/// The shifted history that the kernel forms, if it does nothing else.
std::optional<ShiftedHistory> shifted_history(const Node& kernel);

}  // namespace graphc::core

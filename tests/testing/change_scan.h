// SPDX-License-Identifier: Apache-2.0
// Removes and rebinds parts of a scan.
#pragma once

#include "ir/scan.h"

namespace graphc::core::testing {

/// An input of a scan's body, and its operand in the changed scan.
struct BodyInput {
  size_t index = 0;  ///< among the old body's inputs
  Value operand;     ///< in the new graph
};

/// The parts of a changed scan: parts of the old one, possibly in new roles.
struct ScanChange {
  std::vector<BodyInput> streams, carries, captures;
  std::vector<size_t> emits;  ///< indices of the old scan's emits
  std::vector<size_t> next;   ///< for each new carry, the old carry whose next value it takes
};

/// The identity change: `operands` are those of the node in the new graph.
ScanChange all_of(const Scan& scan, const Values& operands);

/// Adds the changed scan to `to`; the body must not need a removed input.
const Node& add_changed(const Scan& scan, const ScanChange& change, Graph& to);

/// The change that removes unused emits and final carries (`used` is by result of the node), and
/// everything that only they need.
ScanChange live_part(const Scan& scan, const Values& operands, const std::vector<bool>& used);

/// The nodes of the graph that `roots` need, by id.
std::vector<bool> needed_nodes(const Graph& graph, const Values& roots);

}  // namespace graphc::core::testing

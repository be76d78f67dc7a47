// SPDX-License-Identifier: Apache-2.0
// Taking parts of a scan away.
#pragma once

#include "ir/scan.h"

namespace graphc::core::testing {

/// An input of the body of a scan, and what the changed scan binds it to.
struct BodyInput {
  size_t index = 0;  ///< among the old body's inputs
  Value operand;     ///< in the new graph
};

/// What a changed scan has: parts of the old one, in new roles.
struct ScanChange {
  std::vector<BodyInput> streams, carries, captures;
  std::vector<size_t> emits;  ///< of the old scan, by number
  std::vector<size_t> next;   ///< for each new carry the old carry whose next value it takes
};

/// The change that changes nothing: `operands` are those of the node in the new graph.
ScanChange all_of(const Scan& scan, const Values& operands);

/// Adds the changed scan to `to`; nothing of the body may need an input that has gone.
const Node& add_changed(const Scan& scan, const ScanChange& change, Graph& to);

/// The change without emits and final carries that are not `used` (by result of the node), and
/// without what only these need.
ScanChange live_part(const Scan& scan, const Values& operands, const std::vector<bool>& used);

/// The nodes of the graph that `roots` need, by id.
std::vector<bool> needed_nodes(const Graph& graph, const Values& roots);

}  // namespace graphc::core::testing

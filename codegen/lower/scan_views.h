// SPDX-License-Identifier: Apache-2.0
// Where the inputs and results of a scan's body lie at each step. Internal to codegen/lower.
#pragma once

#include <vector>

#include "codegen/lower/context.h"
#include "ir/scan.h"

namespace graphc::core {

/// Views of a body's inputs and results for the scan, and what they leave behind.
struct ScanViews {
  std::vector<View> inputs, results;  ///< of the body
  std::vector<View> emitted, final;   ///< of the node
  std::vector<Carry> carries;         ///< of the loop, but for those that read their history
};

/// The views of a scan that is to be loop `id` at the context's depth. `groups`: of its rows, if it
/// has a row model.
ScanViews bind_scan(LowerContext& context, const Scan& scan, const std::vector<View>& operands,
                    const Node& node, const ViewMap& wanted, int id, int groups = 0);
/// Sets the views of the scan's results.
void publish(const Scan& scan, const ScanViews& bound, const Node& node, ViewMap& views);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Families of graphs parametrised by size, for tests of the compiler's complexity and of nesting
// depth.
#pragma once

#include <string>
#include <string_view>

namespace graphc::core::testing {

/// The graph @f of a family, as text: `chain` (consecutive elementwise nodes), `chain-gradient`,
/// `carries` (of one loop, each reading the next one), `carries-gradient`, `scans` (consecutive
/// loops), `scans-gradient`, `layers-gradient` (products and activations), `steps` (a loop with n
/// steps, for unrolling), `body` (a chain in a loop, and its gradient), `delays` (carries of one
/// loop that pass a value on).
std::string growing_graph(std::string_view family, int n);
/// Nested loops, `levels` deep; with `twice` two per level.
std::string nested_graph(int levels, bool twice);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Families of graphs that grow with a number: for tests of how the compiler's work grows, and of
// depth.
#pragma once

#include <string>
#include <string_view>

namespace graphc::core::testing {

/// The graph @f of a family, as text: `chain` (elementwise nodes one after another),
/// `chain-gradient`, `carries` (of one loop, each reading the one after it), `carries-gradient`,
/// `scans` (one after another), `scans-gradient`, `layers-gradient` (products and activations),
/// `steps` (a loop of so many steps, for unrolling), `body` (a chain in a loop, and its gradient),
/// `delays` (carries of one loop that hand a value on).
std::string growing_graph(std::string_view family, int n);
/// Loops in one another, `levels` deep; with `twice` two in each.
std::string nested_graph(int levels, bool twice);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// What one rank computes of a node, by its op and how its operands are held. Each rule adds nodes
// through the replicator and sets what stands for the results.
#pragma once

#include "passes/replicate/replicator.h"

namespace graphc::core {

/// The rule of the node's op.
void replicate_node(Replicator& r, const Node& node);

// --- rules of a file of their own ---

/// Elementwise work: as many as fit are held alike, and what is linear stays a sum of terms.
void replicate_elementwise(Replicator& r, const Node& node);
/// For an elementwise result held as `holding`, the form of operand `i`.
Holding operand_holding(const Node& node, size_t i, const Holding& holding);
void replicate_matmul(Replicator& r, const Node& node);
/// Ops that move elements, sums, and tables.
void replicate_shape(Replicator& r, const Node& node);
void replicate_scan(Replicator& r, const Node& node);
void replicate_grad(Replicator& r, const Node& node);
void replicate_composite(Replicator& r, const Node& node);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Data that the blocks of a cluster exchange through their shared memory instead of global memory:
// left operands of products that the steps of a loop compute themselves.
//
// Each block holds all columns of its rows of the operand, twice: those read in this step, and
// those written for the next one. The block that computes an element writes it into the shared
// memory of every block of the cluster.
#pragma once

#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// The left operands of a loop that can be exchanged in this way: the owners of their elements
/// compute them, and they are stored in the type in which they are multiplied.
std::vector<Exchange> find_exchanges(const LoopNests& nests, const std::vector<Owner>& owners);

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// What the blocks of a cluster hand each other through their shared memory in place of memory: the
// left operand of a product that the steps of a loop make themselves.
//
// Each block has all columns of its rows of the operand, twice: those that are read in this step,
// and those that are made for the next one. Whoever makes an element writes it into the shared
// memory of every block of the cluster.
#pragma once

#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// The left operands of a loop that can be exchanged so: what makes them is done by the owners of
/// its elements, and is stored as it is multiplied.
std::vector<Exchange> find_exchanges(const LoopNests& nests, const std::vector<Owner>& owners);

}  // namespace graphc::core::cuda

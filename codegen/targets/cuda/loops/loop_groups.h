// SPDX-License-Identifier: Apache-2.0
// Loops whose rows are in groups, each of which multiplies by matrices of its own: the heads of a
// recurrent layer (docs/decisions/0035-heads-are-groups-of-rows.md).
//
// Where no access of a loop joins two groups, a group is a loop of its own, with the same steps and
// a part of the memory. A placed loop gives each group blocks of its own; what these own, exchange
// and wait for is planned once, for the nests of the first group. Addresses of another group are
// constant strides further.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// The nests of the first group of rows, as nests without outer axes.
struct LoopGroups {
  LoopGroups() = default;
  LoopGroups(LoopGroups&&) = default;
  LoopGroups& operator=(LoopGroups&&) = default;

  std::vector<NestCall> calls;
  LoopNests nests;  ///< of `calls`, with LoopNests::groups
};

/// The groups of a loop; none where its nests have no outer axis, or different ones, or several, or
/// where an access joins groups.
std::optional<LoopGroups> groups_of(const LoopNests& nests);

}  // namespace graphc::core::cuda

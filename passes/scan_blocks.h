// SPDX-License-Identifier: Apache-2.0
// A loop over blocks of the steps of a loop, and what is left over after the last whole block.
#pragma once

#include <functional>
#include <string_view>

#include "ir/scan.h"

namespace graphc::core {

/// Values for the operands of a scan.
struct ScanOperands {
  Values streams, initial, captures;
};
/// `values` stand for the operands of the scan, in their order.
ScanOperands operands_of(const Scan& scan, const Values& values);

/// What some steps of a loop leave: the carries after them, and each emit stacked along a first
/// axis of steps.
struct StepsDone {
  Values carries, stacks;
};
/// Adds the work of `steps` steps to a graph. Streams have as many steps.
using AddSteps = std::function<StepsDone(const ScanOperands& operands, int64_t steps, Graph& to)>;

/// Whether there is such a loop: its streams and its stacks of emits have one more axis.
bool has_room_for_blocks(const Scan& scan);
inline constexpr std::string_view kNoRoomForBlocks =
    "blocks of steps are one more axis of its streams and emits, and a value has at most 8";
static_assert(Shape::kMaxRank == 8);

/// The results of the scan, computed by a loop each of whose steps does `factor` steps of the scan
/// by `block`. `rest` does the remaining ones, which the loop's direction leaves to the end. There
/// are at least `factor` steps, and room for blocks. Carries have the shapes that `values` have.
Values in_blocks(const Scan& scan, const Values& values, int64_t factor, const AddSteps& block,
                 const AddSteps& rest, Graph& to);

}  // namespace graphc::core

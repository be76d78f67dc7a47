// SPDX-License-Identifier: Apache-2.0
// Writes a loop with the axes of its step divided (split_axes.cpp).
#pragma once

#include "ir/scan.h"
#include "passes/axis_parts.h"

namespace graphc::core {

/// The loop with its axes in these parts, alone in a graph: its inputs are the loop's operands, its
/// results the loop's. Streams, carries, captures and results are reshaped, and taken apart or
/// joined where they are unpacked, before and behind the loop.
GraphPtr split_loop(const Scan& scan, const AxisParts& parts);

}  // namespace graphc::core

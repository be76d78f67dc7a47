// SPDX-License-Identifier: Apache-2.0
// Kernels to plans.
#pragma once

#include "codegen/machine.h"
#include "codegen/step/plan.h"
#include "ir/graph.h"

namespace graphc::core {

/// Lowers a graph of kernels (passes/kernels/fuse.h) to a plan without offsets, in which every
/// value has a place of its own: a state gets its next value by a copy at the end, a scatter works
/// on a copy of its table. Throws ErrorKind::input, naming the node, for what no family takes.
Plan lower(const Graph& kernels, const Machine& machine);

/// The plan that a target walks: lowered, its memory planned, records shared out (plan/schedule.h),
/// barriers placed (step/barriers.h), verified.
Plan make_plan(const Graph& kernels, const Machine& machine);

}  // namespace graphc::core

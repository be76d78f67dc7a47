// SPDX-License-Identifier: Apache-2.0
// Lowers kernels to plans.
#pragma once

#include "codegen/machine.h"
#include "codegen/step/plan.h"
#include "ir/graph.h"

namespace graphc::core {

/// Lowers a graph of kernels (passes/kernels/fuse.h) to a plan without offsets, in which every
/// value has a place of its own: a copy at the end of the plan updates each state, a scatter works
/// on a copy of its table. Throws ErrorKind::input, naming the node, for a node that
/// neither a kernel family nor Machine::lower_external supports.
Plan lower(const Graph& kernels, const Machine& machine);

/// The plan that a target walks: lowers, plans memory (plan/memory.h), shares out records
/// (plan/schedule.h), places barriers (step/barriers.h), and verifies.
Plan make_plan(const Graph& kernels, const Machine& machine);

}  // namespace graphc::core

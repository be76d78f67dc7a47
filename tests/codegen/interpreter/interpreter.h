// SPDX-License-Identifier: Apache-2.0
// A target that exists for tests alone: it makes a plan for a machine unlike any processor and
// interprets it, scalar by scalar. It is there to show what a target needs and to be another reader
// of plans: it includes nothing of any other target.
#pragma once

#include <vector>

#include "codegen/machine.h"
#include "codegen/step/plan.h"
#include "codegen/target.h"

namespace graphc::core::testing {

/// "plan-interpreter".
extern const Target plan_interpreter;

/// Its machine: five lanes, seven registers, pairs of rows in panels of f32, and blocks of a few
/// numbers.
Machine interpreted_machine(int workers);

/// Makes the derived forms of states and runs a step. `bases` has the address of every buffer of
/// the plan. Of each phase `workers` do their shares one after the other, in that order. Throws
/// ErrorKind::internal for an access outside its buffer, ErrorKind::input for an index outside its
/// table.
void interpret(const Plan& plan, const Machine& machine, const std::vector<int>& workers,
               const std::vector<char*>& bases);

}  // namespace graphc::core::testing

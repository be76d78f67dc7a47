// SPDX-License-Identifier: Apache-2.0
// What may stand in the place of what: the one rule by which a value gets the memory of another.
//
// As lowered every value has a place of its own, and whatever must be somewhere else is copied.
// The rule: `result` may be written to the place of `operand` if
//
//   1. whoever reads `operand` does so in a record before the one that first writes `result`,
//   2. or in that record itself, element by element: each is read by the thread that writes the
//      element in its place, before it does, and in no later step (codegen/plan/in_place.h),
//   3. and nobody writes `operand` from there on.
//
// By this rule, and no other, carries keep one place instead of two, states are updated where they
// are, copies vanish, and results take the place of operands that die: pre-gates, gates and their
// gradients are three values in one buffer. Views need no rule of their own, because they are
// addresses in the buffer they look at. verify_plan() replays what came of it.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Takes copies out of a lowered plan that nobody would miss, and gives carries their places: one,
/// written over in each step, where the rule allows it, otherwise two that change roles.
void share_places(Plan& plan);

/// Lets results take the place of operands that die in the record that makes them. Lifetimes are
/// known and are kept right; `plan.phases` too.
void overwrite(Plan& plan);

}  // namespace graphc::core

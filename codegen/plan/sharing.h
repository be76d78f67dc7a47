// SPDX-License-Identifier: Apache-2.0
// Sharing of memory: the one rule by which a value takes the place of another.
//
// As lowered, every value has a place of its own, and a value needed elsewhere is copied. The rule:
// `result` may be written to the place of `operand` if
//
//   1. every record that reads `operand` comes before the one that first writes `result`,
//   2. or is that record itself, which reads it element by element: the thread that writes an
//      element
// reads the one in its place before, and no later step reads it (codegen/plan/in_place.h),
//   3. and no record writes `operand` from there on.
//
// By this rule alone, carries keep one place instead of two, states are updated in place, copies
// are removed, and results take the place of operands that die: pre-gates, gates and their
// gradients are three values in one buffer. Views need no rule of their own, because they are
// addresses in the buffer they view. verify_plan() replays the outcome.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// Removes redundant copies from a lowered plan and assigns places to carries: one that each step
/// overwrites, where the rule allows it, otherwise two that swap roles.
void share_places(Plan& plan);

/// Lets results take the place of operands that die in the record that computes them. Requires
/// lifetimes and `plan.phases`; keeps the lifetimes up to date.
void overwrite(Plan& plan);

}  // namespace graphc::core

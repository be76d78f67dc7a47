// SPDX-License-Identifier: Apache-2.0
// The half of the rule of codegen/plan/sharing.h that looks into one record.
#pragma once

#include <functional>

#include "codegen/step/plan.h"

namespace graphc::core {

/// Which loop's steps are the later ones: that which the record is, if it is one, or that around
/// it, too.
enum class StepsOf : uint8_t { own_loop, loop_around };

/// Whether `record` may write `result` to the place of `operand`: every element of `operand` that
/// the record reads, or makes for itself, is read and made by the thread that writes the same
/// element of `result`, before it does, and is not needed again, in a later step of the record's
/// own loop neither. `place_of` says which
/// buffer another now is; `depth` is how many loops are around the record. With
/// StepsOf::loop_around no other record of that loop may use either.
bool replaces_in_place(const Plan& plan, const Record& record, int depth, int result, int operand,
                       const std::function<int(int)>& place_of, StepsOf steps = StepsOf::own_loop);

}  // namespace graphc::core

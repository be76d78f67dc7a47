// SPDX-License-Identifier: Apache-2.0
// The part of the rule of codegen/plan/sharing.h that examines a single record.
#pragma once

#include <functional>

#include "codegen/step/plan.h"

namespace graphc::core {

/// Which loop's steps count as later steps: those of the loop that the record is, if it is one, or
/// also those of the loop around it.
enum class StepsOf : uint8_t { own_loop, loop_around };

/// Whether `record` may write `result` to the place of `operand`. Every element of `operand` that
/// the record reads, or computes itself, must be read and computed by the thread that writes the
/// same element of `result`, before that write. It must not be needed again, in a later step of the
/// record's own loop either. `place_of` maps a buffer to the one that now holds its place; `depth`
/// is the number of loops around the record. With StepsOf::loop_around no other record of that loop
/// may use either buffer.
bool replaces_in_place(const Plan& plan, const Record& record, int depth, int result, int operand,
                       const std::function<int(int)>& place_of, StepsOf steps = StepsOf::own_loop);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The part of the rule of codegen/plan/sharing.h for values of a step that lie where a carry does.
#pragma once

#include "codegen/step/plan.h"

namespace graphc::core {

/// In loops whose rows carry a matrix, lets values of a step take the place of a carry: from the
/// record that reads the carry last, element by element, to the one that writes its next value,
/// which may read them so. A step backward then goes through one matrix of derivatives, not two,
/// and a row's matrices stay in the first-level cache. Other values of such a step share no memory:
/// rows would not stay apart. Follows share_places(); before lifetimes are known.
void place_in_carries(Plan& plan);

}  // namespace graphc::core

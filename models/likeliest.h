// SPDX-License-Identifier: Apache-2.0
// Drawing from the likeliest tokens alone.
#pragma once

#include "frontend/graphc.h"

namespace graphc::core {

/// Logits [1, n] of which all but the k largest are -inf: k is the extent of `ranks` [k], whose
/// elements say nothing. Those that equal the k-th largest all stay. Where k is 0 nothing changes.
Value keep_likeliest(Value logits, Value ranks);

/// A value for `ranks` where there are `n` logits: empty where k is 0 or leaves none of them out.
Literal ranks_of(int64_t k, int64_t n);

}  // namespace graphc::core

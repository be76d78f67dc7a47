// SPDX-License-Identifier: Apache-2.0
// Sampling restricted to the likeliest tokens.
#pragma once

#include "frontend/graphc.h"

namespace graphc::core {

/// Sets all but the k largest of the logits [1, n] to -inf; k is the extent of `ranks` [k], whose
/// elements are ignored. Ties with the k-th largest are kept. k = 0 changes nothing.
Value keep_likeliest(Value logits, Value ranks);

/// The value of `ranks` for `n` logits: empty if k is 0 or excludes none.
Literal ranks_of(int64_t k, int64_t n);

}  // namespace graphc::core

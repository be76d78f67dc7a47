// SPDX-License-Identifier: Apache-2.0
// The line that a WhereScope (ir/build.h) gives to what has none of its own.
#pragma once

#include "ir/error.h"

namespace graphc::core {

/// The line of the innermost WhereScope of this thread; where there is none, `where`.
Where in_scope(Where where);

}  // namespace graphc::core

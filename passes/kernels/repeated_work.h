// SPDX-License-Identifier: Apache-2.0
// Cheap elementwise values of matrices are computed by each of their readers.
#pragma once

#include "ir/graph.h"

namespace graphc::core {

/// A body in which every reader of such a value has a copy of the node: an elementwise node of a
/// few operations that makes a matrix (of a stack) from one other matrix and from values that are
/// the same along its rows or columns. Reading that matrix again takes no longer than to read the
/// result, which then need not be stored: S * decay in a cell whose state is a matrix.
GraphPtr with_repeated_work(const GraphPtr& body);

}  // namespace graphc::core

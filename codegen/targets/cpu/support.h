// SPDX-License-Identifier: Apache-2.0
// The operations that the CPU target has code for.
#pragma once

#include "ir/graph.h"
#include "ir/scalar.h"

namespace graphc::core::cpu {

/// Whether there is code for a scalar operation on operands of this dtype (that of the first
/// operand that is not a condition).
bool has_code(ScalarOp op, DType operand_dtype);

/// Throws ErrorKind::input, at the user's line, for a node of the graph or its regions that needs
/// an elementary function in f64.
void check_supported(const Graph& graph);

}  // namespace graphc::core::cpu

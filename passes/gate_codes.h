// SPDX-License-Identifier: Apache-2.0
// Storage of saved gates in bf16. The derivative needs s and 1 - s for a sigmoid s, and 1 - t^2 for
// a tanh t; bf16's 8-bit significand cannot represent these differences near 1: a forget gate above
// 0.998 would be 1, and the gradient of its bias 0. Therefore:
//
// - a sigmoid above 1/2 is stored as s - 1, which is negative; s = 1 is stored as a tiny
//   negative number. Both s and 1 - s are then within 2^-9 relative error;
// - a tanh is stored as its argument, and recomputed.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

enum class GateCode : uint8_t { plain, less_one, argument };

/// The storage codes of an emitted value that is a gate, or a concatenation of equally wide gates
/// along the last axis. Empty if it contains no gate.
std::vector<GateCode> gate_codes_of(Value emitted);

/// Whether the node splits a value into this many gates.
bool splits_gates(const Node& node, size_t gates);

/// The value to store for a gate, which is `gate` in the new graph; `argument` is its argument
/// there. All are f32.
Value encoded(GateCode code, Value gate, Value argument, Where where);
/// The gate decoded from its stored value, in f32.
Value decoded(GateCode code, Value stored, Where where);

}  // namespace graphc::core

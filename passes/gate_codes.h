// SPDX-License-Identifier: Apache-2.0
// How gates that a loop saves are stored in bf16. A derivative wants of a sigmoid s both s and
// 1 - s, and of a tanh t 1 - t^2; of numbers near 1 eight digits hold nothing of these: a forget
// gate above 0.998 would be 1, and the gradient of its bias 0. So
//
// - a sigmoid above 1/2 is stored as s - 1, which is negative, and of 1 itself the least that is:
//   both s and 1 - s are within 2^-9 of themselves;
// - of a tanh its argument is stored, and it is computed again.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace graphc::core {

enum class GateCode : uint8_t { plain, less_one, argument };

/// Of what a body emits, a gate or equally wide ones side by side along the last axis: how each is
/// stored. Empty if no gate is among them.
std::vector<GateCode> gate_codes_of(Value emitted);

/// Whether the node splits what so many gates make into these.
bool splits_gates(const Node& node, size_t gates);

/// The value to store for a gate, which is `gate` in the new graph; `argument` is its argument
/// there. All are f32.
Value encoded(GateCode code, Value gate, Value argument, Where where);
/// The gate from what was stored, in f32.
Value decoded(GateCode code, Value stored, Where where);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Loop invariance: a single analysis for all passes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/scan.h"

namespace graphc::core {

/// What a value of a loop's body depends on, in increasing order. A value depends on the maximum
/// over its operands; constants, iotas and sizes depend on nothing.
enum class Varies : uint8_t {
  nothing,   ///< only constants: the same in every loop
  captures,  ///< and captured values: the same in every step
  streams,   ///< differs between steps, but is known before the loop
  carries,   ///< known only after the previous steps
};

/// For each node of the body (by id), what its results depend on.
std::vector<Varies> variation(const Scan& scan);

/// Whether a value of the body is the same in every step, given its `variation`.
bool is_invariant(const std::vector<Varies>& variation, Value value);

}  // namespace graphc::core

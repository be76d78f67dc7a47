// SPDX-License-Identifier: Apache-2.0
// What is invariant in a loop: the one answer, for every pass that asks.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/scan.h"

namespace graphc::core {

/// What a value of a loop's body depends on, from the least to the most. A value depends on the
/// most any of its operands does; constants, iotas and sizes depend on nothing.
enum class Varies : uint8_t {
  nothing,   ///< made of constants alone: the same in every loop
  captures,  ///< and of captured values: the same in every step
  streams,   ///< another in each step, known before the loop
  carries,   ///< known only when the steps before it are done
};

/// For each node of the body (by id) what its results depend on.
std::vector<Varies> variation(const Scan& scan);

/// Whether a value of the body, of which `variation` is known, is the same in every step.
bool is_invariant(const std::vector<Varies>& variation, Value value);

}  // namespace graphc::core

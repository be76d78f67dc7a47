// SPDX-License-Identifier: Apache-2.0
// What is chosen where nobody says how many steps a chunk has
// (passes/recurrence/chunk_recurrence.cpp).
#pragma once

#include <cstdint>

namespace graphc::core {

/// The steps of a chunk. More make the products of steps with each other larger than those with the
/// matrix; fewer make matrices too small for products.
constexpr int64_t kStepsOfChunk = 32;

}  // namespace graphc::core

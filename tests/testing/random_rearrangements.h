// SPDX-License-Identifier: Apache-2.0
// Random loops whose steps do little but rearrange their values.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A loop drawn from `seed`. Its step reshapes, transposes, slices, splits and concatenates what it
/// carries and reads, in pieces that are equal or not, in their order, another, or twice; between
/// them are elementwise ops, sums, softmax and products with captured matrices. Inputs: a stream,
/// an initial carry, and the matrices; results: what the step emits, and the last carry.
GraphPtr random_rearrangements(unsigned seed);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Random steps that make numbers of rows.
#pragma once

#include "ir/graph.h"

namespace graphc::core::testing {

/// A loop over a step drawn from `seed`, and its derivative: a product, possibly of heads, sums,
/// means, maxima and variances of what the step computes and reads, numbers of such numbers, and
/// elements made of all of these. What it emits may be one number of each row.
GraphPtr drawn_rows(unsigned seed);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Rows of different lengths: sequences [steps, batch, ...] in which each row has its own number of
// steps. The padding behind its end may be anything, NaN included. Loops and recurrent layers take
// lengths in ScanOptions; this header has the matching masks and mean.
//
//   Value y = lstm(x, {.lengths = n});                              // x [steps, batch, input]
//   Value loss = mean_over_steps(cross_entropy(out(y), labels), n);  // n i32 [batch]
#pragma once

#include "ir/build.h"

namespace graphc::core {

/// Integers [batch] to bool [steps, batch]: true before each row's end. Integers [], one length for
/// all rows, to bool [steps, 1].
Value valid_steps(Value lengths, int64_t steps, Where where = Where::here());

/// x [steps, batch, ...] with 0 past the end of each row. This is a selection, not a product:
/// padding affects neither the value nor the gradient with respect to x, which is exactly 0 there.
/// It also serves for targets padded with NaN.
///
/// The computation of x is not masked: if x = log(z) and z is padding, the 0 meets an infinite
/// derivative, and 0 times infinity is NaN. Mask before the singular operation: `log(select(valid,
/// z, 1))`. Inside a scan with lengths this is done for the body.
Value mask_steps(Value x, Value lengths, Where where = Where::here());

/// The mean of x [steps, batch, ...] over the valid steps; 0 if there are none. Every step has the
/// same weight, so a long row counts more than a short one. Padding affects neither the mean nor
/// the gradient with respect to x; the computation of x is not masked (see mask_steps()):
/// `mean_over_steps(square(y - mask_steps(targets, n)), n)`.
Value mean_over_steps(Value x, Value lengths, Where where = Where::here());

/// x where the mask, which broadcasts, is true; elsewhere 0 or false.
Value value_or_zero(Value mask, Value x);

/// The lengths in a type that can count to `steps` and beyond every length; u8 or u32 would wrap
/// around.
Value counted_lengths(Value lengths, int64_t steps);

/// Throws ErrorKind::input, naming `who`, unless the value is integers [batch] or [].
void check_row_lengths(const char* who, Value lengths, Where where);

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Rows of different lengths: sequences [steps, batch, ...] of which each row has its own number of
// steps, and behind its end padding, which may be anything, NaN too. Loops and recurrent layers
// take lengths in ScanOptions; these are the masks and the mean that go with them.
//
//   Value y = lstm(x, {.lengths = n});                              // x [steps, batch, input]
//   Value loss = mean_over_steps(cross_entropy(out(y), labels), n);  // n i32 [batch]
#pragma once

#include "ir/build.h"

namespace graphc::core {

/// Integers [batch] to bool [steps, batch]: true before each row's end. Integers [], one length of
/// all rows, to bool [steps, 1].
Value valid_steps(Value lengths, int64_t steps, Where where = Where::here());

/// x [steps, batch, ...] with 0 past the end of each row. It is chosen, not multiplied: what stood
/// there reaches neither the value nor a gradient by x, which is exactly 0 there. For targets that
/// are padded with NaN, too.
///
/// What x was computed from is another matter: where x = log(z) and z is padding, the 0 meets an
/// infinite derivative, and 0 times infinity is NaN. So mask before what is singular:
/// `log(select(valid, z, 1))`. Inside of a scan with lengths this is done for the body.
Value mask_steps(Value x, Value lengths, Where where = Where::here());

/// The mean of x [steps, batch, ...] over the steps that rows have; 0 when there are none. Each
/// step counts alike, so that a long row counts more than a short one. What stands past the end of
/// a row reaches neither the mean nor a gradient by x; what x was computed from is another matter,
/// as for mask_steps(): `mean_over_steps(square(y - mask_steps(targets, n)), n)`.
Value mean_over_steps(Value x, Value lengths, Where where = Where::here());

/// x where the mask, which broadcasts, is true, elsewhere 0 or false.
Value value_or_zero(Value mask, Value x);

/// The lengths in a type that counts to `steps` and beyond every length: what u8 or u32 counted
/// would begin again.
Value counted_lengths(Value lengths, int64_t steps);

/// Throws ErrorKind::input, naming `who`, unless the value is integers [batch] or [].
void check_row_lengths(const char* who, Value lengths, Where where);

}  // namespace graphc::core

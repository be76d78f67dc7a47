// SPDX-License-Identifier: Apache-2.0
#include "frontend/lengths.h"

#include <algorithm>

#include "ir/called.h"

namespace graphc::core {
namespace {

/// The mask of x [steps, batch, ...], broadcast to the rank of x.
Value mask_of(const char* who, Value x, Value lengths, Where where) {
  check_row_lengths(who, lengths, where);
  const Shape& rows = lengths.shape();
  const int least = 1 + rows.rank();
  if (x.shape().rank() < least || (rows.rank() == 1 && x.shape()[1] != rows[0])) {
    throw input_error(where, "{}: lengths are {}: wanted [steps, {}...], found %{} of {}", who,
                      to_string(lengths.type()),
                      rows.rank() == 0 ? "" : std::to_string(rows[0]) + ", ", x.name(),
                      to_string(x.type()));
  }
  const Value valid = valid_steps(lengths, x.shape()[0], where);
  if (x.shape().rank() == 1) return reshape(valid, x.shape(), where);
  Shape shape = valid.shape();
  while (shape.rank() < x.shape().rank()) shape = shape.insert(shape.rank(), 1);
  return reshape(valid, shape, where);
}

}  // namespace

void check_row_lengths(const char* who, Value lengths, Where where) {
  if (is_integer(lengths.dtype()) && lengths.shape().rank() <= 1) return;
  throw input_error(where,
                    "{}: lengths are integers, one for each row: wanted i32[batch], found {}", who,
                    to_string(lengths.type()));
}

Value valid_steps(Value lengths, int64_t steps, Where where) {
  const Called called("valid_steps", where);
  check_row_lengths("valid_steps", lengths, where);
  if (steps < 0) throw input_error(where, "valid_steps: steps are from 0 on: found {}", steps);
  const int64_t rows = lengths.shape().rank() == 0 ? 1 : lengths.shape()[0];
  const Value counted = counted_lengths(lengths, steps);
  const Value step = iota(*lengths.node->graph, {steps, 1}, 0, counted.dtype());
  return less(step, reshape(counted, {1, rows}));
}

Value counted_lengths(Value lengths, int64_t steps) {
  const bool narrow = lengths.dtype() == DType::u8 || lengths.dtype() == DType::i32;
  return cast(lengths, narrow && holds(DType::i32, steps) ? DType::i32 : DType::i64);
}

Value value_or_zero(Value mask, Value x) {
  return x.dtype() == DType::boolean ? logical_and(mask, x) : select(mask, x, 0);
}

Value mask_steps(Value x, Value lengths, Where where) {
  const Called called("mask_steps", where);
  return value_or_zero(mask_of("mask_steps", x, lengths, where), x);
}

Value mean_over_steps(Value x, Value lengths, Where where) {
  const Called called("mean_over_steps", where);
  x.expect_usable(where);
  if (!is_floating(x.dtype())) {
    throw input_error(where, "mean_over_steps: takes floating-point values: found %{} of {}",
                      x.name(), to_string(x.type()));
  }
  const Value valid = mask_of("mean_over_steps", x, lengths, where);
  // The number of elements of x per step of a row.
  const double each =
      double(x.shape().elements()) / double(std::max<int64_t>(1, valid.shape().elements()));
  const int64_t steps = x.shape()[0];
  const Value had = clip(cast(lengths, DType::i64), 0, steps);
  const Value count = cast(sum(had), x.dtype()) * each;
  return sum(select(valid, x, 0)) / maximum(count, 1);
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "frontend/ended_rows.h"

#include "frontend/lengths.h"

namespace graphc::core {
namespace {

Value chosen(Value condition, Value a, Value b) { return apply1(ops::select, {condition, a, b}); }

/// Reshapes [n, ...] to [n, 1, ...] of this rank.
Value with_rank(Value x, int rank) {
  Shape shape = x.shape();
  while (shape.rank() < rank) shape = shape.insert(shape.rank(), 1);
  return reshape(x, shape);
}

}  // namespace

EndedRows::EndedRows(Value lengths, int64_t steps, bool reverse)
    : lengths_(counted_lengths(lengths, steps)), steps_(steps), reverse_(reverse) {
  if (steps == 0 || rows() == 0) return;
  Graph& graph = *lengths_.node->graph;
  if (of_rows()) {
    const Value some = has_any(1);
    row_ = chosen(some, iota(graph, {rows()}), argmax(cast(some, DType::i32), 0));
    place_ = row_;
  }
  if (!reverse_) return;
  const Value own = of_rows() ? gather(lengths_, row_) : lengths_;
  const Value last = maximum(minimum(own, steps), 1) - 1;
  const bool narrow = holds(DType::i32, Shape{steps, rows()}.elements());
  const DType dtype = narrow ? last.dtype() : DType::i64;
  place_ = of_rows() ? cast(last, dtype) * rows() + cast(row_, dtype) : last;
}

Value EndedRows::has_step(int rank, int ahead) const {
  Value step = iota(*lengths_.node->graph, {steps_}, 0, lengths_.dtype());
  if (ahead > 0) step = step + ahead;
  if (!of_rows()) return less(step, lengths_);
  return with_rank(less(reshape(step, {steps_, 1}), reshape(lengths_, {1, rows()})), rank + 1);
}

Value EndedRows::has_any(int rank) const {
  return of_rows() ? with_rank(greater(lengths_, 0), rank) : greater(lengths_, 0);
}

Value EndedRows::stream(Value x) const {
  if (steps_ == 0 || rows() == 0) return x;
  Value first;
  if (of_rows()) {
    const Shape row = x.shape().without(0).without(0);
    Shape all = row.insert(0, reverse_ ? steps_ * rows() : rows());
    first = gather(reshape(reverse_ ? x : at(x, 0), all), place_);
    const Value some = has_any(1);
    first = value_or_zero(greater(max(cast(some, DType::i32)), 0), first);
  } else {
    first = value_or_zero(has_any(0), reverse_ ? gather(x, place_) : at(x, 0));
  }
  const Shape once = first.shape().insert(0, 1);
  const int rank = of_rows() ? x.shape().rank() - 1 : 0;
  Value mask = has_step(rank);
  if (!of_rows()) mask = with_rank(mask, x.shape().rank());
  return chosen(mask, x, stop_gradient(reshape(first, once)));
}

Value EndedRows::first_state(Value initial) const {
  if (!row_ || splat_value(initial)) return initial;
  const Value other = stop_gradient(gather(initial, row_));
  return chosen(has_any(initial.shape().rank()), initial, other);
}

Value EndedRows::last_state(Value final, Value initial) const {
  if (!row_ || splat_value(initial)) return final;
  return chosen(has_any(initial.shape().rank()), final, initial);
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_reach.h"

#include <algorithm>

namespace graphc::core::cuda {

void Reach::stretch(int64_t stride, int64_t count) {
  const int64_t reach = stride * std::max<int64_t>(count - 1, 0);
  (reach < 0 ? begin : end) += reach;
}

Reach reach_in_all_steps(const LoopNests& nests, const MovingPlace& place, int64_t size) {
  const Buffer& buffer = nests.plan->buffers[size_t(place.base.buffer)];
  const int64_t begin =
      place.base.offset + (buffer.place == Place::arena ? buffer.offset : int64_t{0});
  Reach reach{begin, begin + size};
  reach.stretch(place.step, nests.loop->steps);
  reach.stretch(place.slot, 2);
  return reach;
}

Reach reach_of_operand(const LoopNests& nests, size_t nest, size_t operand, int64_t parts) {
  const NestCall& call = *nests.nests[nest];
  const NestOperand& form = nests.program(nest).operands[operand];
  const CallOperand& of = call.operands[operand];
  const int64_t size = size_of(form.dtype);
  Reach reach = reach_in_all_steps(nests, moving_place(of.address, nests), size);
  reach.stretch(of.row, call.rows);
  reach.stretch(of.part, parts);
  const bool is_of_row =
      nests.program(nest).kind == NestKind::row_wise &&
      (form.kind == OperandKind::reduce_sum || form.kind == OperandKind::reduce_max);
  if (!is_of_row)
    reach.stretch(form.column == ColumnStep::contiguous ? size : of.column, call.unit);
  return reach;
}

bool do_buffers_meet(const LoopNests& nests, int buffer, int other) {
  if (!is_same_memory(nests, buffer, other)) return false;
  const std::vector<Buffer>& buffers = nests.plan->buffers;
  const Buffer &a = buffers[size_t(buffer)], &b = buffers[size_t(other)];
  return a.place != Place::arena ||
         (a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
}

bool is_same_memory(const LoopNests& nests, int buffer, int other) {
  const std::vector<Buffer>& buffers = nests.plan->buffers;
  const Buffer &a = buffers[size_t(buffer)], &b = buffers[size_t(other)];
  return a.place == b.place && (a.place == Place::arena || a.index == b.index);
}

int64_t distance_in_loop(const LoopNests& nests, const MovingPlace& from, const MovingPlace& to,
                         bool of_next, int64_t parity) {
  const int64_t parity_of_to = of_next ? 1 - parity : parity;
  const int64_t steps_before = of_next ? (nests.loop->reverse ? 1 : -1) : 0;
  return to.base.offset + parity_of_to * to.slot + steps_before * to.step - from.base.offset -
         parity * from.slot;
}

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_accesses.h"

#include <algorithm>
#include <cstdlib>

#include "codegen/nest/levels.h"
#include "codegen/step/visit.h"

namespace graphc::core::cuda {
namespace {

bool is_written(const NestOperand& operand) {
  return operand.kind != OperandKind::load && operand.kind != OperandKind::iota &&
         operand.kind != OperandKind::literal;
}

}  // namespace

LoopAccesses::LoopAccesses(const LoopNests& nests) : nests_(nests) {
  for (const NestCall* call : nests.nests) columns_ = std::max(columns_, call->unit);
}

MovingPlace LoopAccesses::place_of(size_t nest, size_t in) const {
  MovingPlace place = moving_place(call_of(nest, in).address, nests_);
  const NestInstruction& instruction = body(nest)[in];
  // A reduction adds up the elements of all parts.
  if (instruction.kind != NestOp::reduce)
    place.base.offset += instruction.part * call_of(nest, in).part;
  return place;
}

int64_t LoopAccesses::group_stride_of(size_t nest, size_t in) const {
  const auto operand = size_t(body(nest)[in].operand);
  return nests_.groups == 1 ? 0 : nests_.group_strides[nest].operands[operand];
}

bool LoopAccesses::is_element(size_t nest, size_t in, NestOp kind) const {
  const NestInstruction& instruction = body(nest)[in];
  if (instruction.kind != kind || is_of_rows(nest)) return false;
  const NestOperand& form = form_of(nest, in);
  const OperandKind wanted = kind == NestOp::load ? OperandKind::load : OperandKind::store;
  return form.kind == wanted && form.column == ColumnStep::contiguous && form.by_row &&
         levels_of(nests_.program(nest))[in] == Level::element;
}

bool LoopAccesses::is_of_row(size_t nest, size_t in) const {
  const NestOperand& form = form_of(nest, in);
  if (!form.by_row && nests_.nests[nest]->rows > 1) return false;
  switch (body(nest)[in].kind) {
    case NestOp::load:
      return form.kind == OperandKind::load &&
             (form.column == ColumnStep::none || is_of_rows(nest));
    case NestOp::store:
      return form.kind == OperandKind::store && is_of_rows(nest);
    case NestOp::reduce:
      return nests_.program(nest).kind == NestKind::row_wise;
    case NestOp::product:
    case NestOp::scalar:
      return false;
  }
  return false;
}

std::optional<DType> LoopAccesses::type_of(size_t nest, size_t in) const {
  const NestInstruction& instruction = body(nest)[in];
  const DType dtype = instruction.kind == NestOp::load ? instruction.dtype
                                                       : body(nest)[size_t(instruction.a)].dtype;
  if (dtype != form_of(nest, in).dtype || dtype != DType::f32) return std::nullopt;
  return dtype;
}

/// How many columns of an element have memory of their own, one behind the other.
int64_t LoopAccesses::columns_of(size_t nest, size_t in) const {
  const bool is_along =
      form_of(nest, in).column == ColumnStep::contiguous && body(nest)[in].kind != NestOp::reduce;
  return is_along ? nests_.nests[nest]->unit : 1;
}

/// The bytes of one step from its first element on.
int64_t LoopAccesses::extent_of(size_t nest, size_t in) const {
  Reach reach{0, size_of(form_of(nest, in).dtype)};
  reach.stretch(call_of(nest, in).row, nests_.nests[nest]->rows);
  reach.stretch(size_of(form_of(nest, in).dtype), columns_of(nest, in));
  return reach.end - reach.begin;
}

Reach LoopAccesses::reach_of(size_t nest, size_t in) const {
  const int64_t size = size_of(form_of(nest, in).dtype);
  Reach reach = reach_in_all_steps(nests_, place_of(nest, in), size);
  reach.stretch(call_of(nest, in).row, nests_.nests[nest]->rows);
  reach.stretch(size, columns_of(nest, in));
  return reach;
}

/// Whether the elements of different steps are apart, or always the same ones.
bool LoopAccesses::has_steps_apart(size_t nest, size_t in) const {
  const MovingPlace place = place_of(nest, in);
  if (place.step != 0 && place.slot != 0) return false;
  const int64_t apart = std::abs(place.step != 0 ? place.step : place.slot);
  const int64_t rows = nests_.nests[nest]->rows;
  // Rows of a step may be among those of others; then they are further apart than all steps.
  return apart == 0 || extent_of(nest, in) <= apart ||
         (rows > 1 && call_of(nest, in).row >= apart * nests_.loop->steps &&
          apart >= size_of(form_of(nest, in).dtype) * columns_of(nest, in));
}

bool LoopAccesses::is_same_element(size_t i, size_t load, size_t j, size_t store,
                                   bool of_next) const {
  const MovingPlace from = place_of(i, load), to = place_of(j, store);
  if (to.first || from.base.buffer != to.base.buffer || from.step != to.step ||
      group_stride_of(i, load) != group_stride_of(j, store) || !has_steps_apart(i, load) ||
      !has_steps_apart(j, store))
    return false;
  if (nests_.nests[i]->rows > 1 && call_of(i, load).row != call_of(j, store).row) return false;
  return distance_in_loop(nests_, from, to, of_next, 0) == 0 &&
         distance_in_loop(nests_, from, to, of_next, 1) == 0;
}

bool LoopAccesses::may_write(size_t j, size_t operand, const Reach& reach, int buffer) const {
  if (!is_written(nests_.program(j).operands[operand])) return false;
  const MovingPlace place = moving_place(nests_.nests[j]->operands[operand].address, nests_);
  if (place.first && do_buffers_meet(nests_, place.first->buffer, buffer)) return true;
  if (!is_same_memory(nests_, place.base.buffer, buffer)) return false;
  int64_t parts = 1;
  for (const NestInstruction& in : body(j)) {
    if (in.operand == int(operand) && in.kind == NestOp::store)
      parts = std::max<int64_t>(parts, in.part + 1);
  }
  return reach_of_operand(nests_, j, operand, parts).meets(reach);
}

bool LoopAccesses::is_read_outside(int buffer) const {
  const Buffer& memory = nests_.plan->buffers[size_t(buffer)];
  if (memory.place != Place::arena) return true;
  // The next step of a loop around this one may read it, at another place than this step does.
  if (nests_.depth > 0 && (memory.scope < 0 || memory.scope != nests_.loop->id)) return true;
  return is_used_outside(nests_.plan->records, buffer);
}

bool LoopAccesses::is_used_outside(const std::vector<Record>& records, int buffer) const {
  return std::ranges::any_of(records, [&](const Record& record) {
    const auto* loop = std::get_if<LoopCall>(&record.call);
    if (loop == nests_.loop) return false;
    if (loop != nullptr) return is_used_outside(loop->body, buffer);
    bool used = false;
    visit_addresses(record, [&](const Address& address) { used |= address.buffer == buffer; });
    return used;
  });
}

}  // namespace graphc::core::cuda

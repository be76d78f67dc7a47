// SPDX-License-Identifier: Apache-2.0
// Nests that move or reduce whole values.
#include "codegen/plan/moves.h"

#include <variant>

namespace graphc::core {

Nest copy_nest(const View& from, const View& to, const std::string& name, int row_axes) {
  const Shape lead = from.shape.rank() == 0 ? Shape{} : from.shape.without(from.shape.rank() - 1);
  NestBuilder builder(lead);
  const RowKind kind = from.shape.rank() == 0 ? RowKind::scalar : RowKind::full;
  const int64_t unit = from.shape.rank() == 0 ? 1 : from.shape[-1];
  const int source = builder.operand(OperandKind::load, from, kind, unit);
  const int target = builder.operand(OperandKind::store, to, kind, unit);
  const int value =
      builder.add({NestOp::load, ScalarOp::argument, from.dtype, -1, -1, -1, source, 0});
  builder.add({NestOp::store, ScalarOp::argument, from.dtype, value, -1, -1, target, 0});
  builder.call.unit = unit;
  builder.call.name = name;
  join_axes(builder.call, builder.program, lead, row_axes == 0, row_axes);
  return builder.take();
}

std::optional<WholeCopy> whole_copy(const Plan& plan, const Record& record) {
  const auto* call = std::get_if<NestCall>(&record.call);
  if (call == nullptr || call->operands.size() != 2 || !call->outer.empty()) return std::nullopt;
  const NestProgram& program = plan.programs[size_t(call->program)];
  if (program.body.size() != 2 || program.body[0].kind != NestOp::load ||
      program.body[1].kind != NestOp::store || call->rows != 1)
    return std::nullopt;
  const int load = program.body[0].operand, store = program.body[1].operand;
  for (size_t i = 0; i < 2; ++i) {
    const Address& address = call->operands[i].address;
    if (address.buffer < 0 || address.offset != 0 || !address.terms.empty() || address.at_first)
      return std::nullopt;
    const int64_t bytes = call->unit * size_of(program.operands[i].dtype);
    if (plan.buffers[size_t(address.buffer)].bytes != bytes) return std::nullopt;
    if (call->unit != 1 && program.operands[i].column != ColumnStep::contiguous)
      return std::nullopt;
  }
  return WholeCopy{call->operands[size_t(load)].address, call->operands[size_t(store)].address};
}

Nest column_reduction_nest(const View& from, const View& to, bool maximum,
                           const std::string& name) {
  const Shape lead = from.shape.without(1);
  NestBuilder builder(lead);
  const int source = builder.operand(OperandKind::load, from, RowKind::full, from.shape[1]);
  const int target = builder.operand(maximum ? OperandKind::reduce_max : OperandKind::reduce_sum,
                                     to, RowKind::column, from.shape[1]);
  const int value =
      builder.add({NestOp::load, ScalarOp::argument, to.dtype, -1, -1, -1, source, 0});
  builder.add({NestOp::reduce, ScalarOp::argument, to.dtype, value, -1, -1, target, 0});
  builder.program.kind = NestKind::column_wise;
  builder.call.unit = from.shape[1];
  builder.call.name = name;
  builder.call.split = Split::columns;
  join_axes(builder.call, builder.program, lead, true);
  return builder.take();
}

}  // namespace graphc::core

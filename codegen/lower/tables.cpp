// SPDX-License-Identifier: Apache-2.0
// Kernels that move rows about: concatenations and rows by index.
#include <algorithm>

#include "codegen/lower/context.h"
#include "codegen/step/view.h"
#include "ir/op.h"

namespace graphc::core {

void lower_concat(LowerContext& context, const Node& node, const std::vector<View>& inputs,
                  const View& to, const std::string& name) {
  const int axis = int(node.attributes.get_int("axis", 0));
  int64_t start = 0;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Values& parameters = node.graph->inputs();
    const size_t index = size_t(std::find(parameters.begin(), parameters.end(), node.operands[i]) -
                                parameters.begin());
    View part = to;
    part.shape = inputs[index].shape;
    part.address = moved(to.address, start * to.strides[size_t(axis)] * size_of(to.dtype));
    context.copy(inputs[index], part, name);
    start += part.shape[axis];
  }
}

namespace {

TableOp table_op(const Node& op) {
  if (op.is(ops::scatter)) return TableOp::scatter;
  if (op.is(ops::scatter_add)) return TableOp::scatter_add;
  if (op.is(ops::check_labels)) return TableOp::check_labels;
  return op.is(ops::merge_rows) ? TableOp::merge_rows : TableOp::gather;
}

}  // namespace

void lower_table(LowerContext& context, const Node& kernel, const Node& op,
                 const std::vector<View>& inputs, const std::vector<View>& results) {
  const auto view = [&](size_t i, const char* name) {
    const Values& parameters = op.graph->inputs();
    const auto found = std::find(parameters.begin(), parameters.end(), op.operands[i]);
    return context.straight(inputs[size_t(found - parameters.begin())], name);
  };
  TableCall call;
  call.name = kernel.names[0];
  call.where = op.where;
  call.op = table_op(op);
  const bool merges = call.op == TableOp::merge_rows;
  const View indices = view(merges || !call.has_table() ? 0 : 1, "indices");
  call.indices = indices.address;
  call.index_dtype = indices.dtype;
  call.count = indices.shape.elements();
  if (!call.has_table()) {
    call.dtype = indices.dtype;
    call.table_rows = op.attributes.get_int("classes", 0);
    call.row_bytes = size_of(indices.dtype);
    call.rows = results[0].address;
    return context.add(Family::table, std::move(call));
  }
  const View table = merges ? results[1] : view(0, "table");
  call.dtype = table.dtype;
  if (call.dtype == DType::bf16 && (merges || call.op == TableOp::scatter_add))
    throw input_error(op.where, "{} does not compute in bf16", context.machine().target);
  call.table_rows = table.shape[0];
  call.row_bytes = table.shape.with(0, 1).elements() * size_of(table.dtype);
  if (call.op == TableOp::gather) {
    call.table = table.address;
    call.rows = results[0].address;
  } else if (merges) {
    call.table = table.address;
    call.rows = view(1, "rows").address;
    call.distinct = results[0].address;
    call.distinct_dtype = results[0].dtype;
  } else {
    context.copy_unless_there(table, results[0], kernel.names[0]);
    call.table = results[0].address;
    call.rows = view(2, "rows").address;
  }
  context.add(Family::table, std::move(call));
}

}  // namespace graphc::core

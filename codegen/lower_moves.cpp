// SPDX-License-Identifier: Apache-2.0
// Kernels that move rows about: concatenations, gathers and scattered sums.
#include <algorithm>

#include "codegen/lowering.h"
#include "codegen/view.h"
#include "ir/op.h"

namespace graphc {

void Lowering::lower_concat(const Node& node, const std::vector<View>& inputs, const View& to,
                            const std::string& name) {
  const int axis = int(node.attributes.get_int("axis", 0));
  int64_t start = 0;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Values& parameters = node.graph->inputs();
    const size_t index = size_t(std::find(parameters.begin(), parameters.end(), node.operands[i]) -
                                parameters.begin());
    View part = to;
    part.shape = inputs[index].shape;
    part.address = moved(to.address, start * to.strides[size_t(axis)] * size_of(to.dtype));
    copy(inputs[index], part, name);
    start += part.shape[axis];
  }
}

void Lowering::lower_rows_kernel(const Node& node, const Node& op, const std::vector<View>& inputs,
                                 const View& result) {
  const auto view = [&](size_t i) {
    const Values& parameters = op.graph->inputs();
    return inputs[size_t(std::find(parameters.begin(), parameters.end(), op.operands[i]) -
                         parameters.begin())];
  };
  RowsCall call;
  call.name = node.names[0];
  call.where = op.where;
  call.scatter = op.is(ops::scatter_add);
  const View table = straight(view(0), "table"), indices = straight(view(1), "indices");
  call.indices = indices.address;
  call.index_dtype = indices.dtype;
  call.count = indices.shape.elements();
  call.table_rows = table.shape[0];
  call.row_bytes =
      table.shape[0] == 0 ? 0 : table.shape.elements() / table.shape[0] * size_of(table.dtype);
  if (call.scatter) {
    if (table.dtype != DType::f32)
      throw input_error({}, "scatter_add: the CPU target adds f32: found {}", name_of(table.dtype));
    copy_unless_there(table, result, node.names[0]);
    call.table = result.address;
    call.rows = straight(view(2), "rows").address;
  } else {
    call.table = table.address;
    call.rows = result.address;
  }
  add("rows", std::move(call));
}

}  // namespace graphc

// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_calls.h"

#include <algorithm>

namespace graphc::core::testing {

void replay_panels(ReplayMemory& memory, const PanelCall& call, const ReplayPlace& from,
                   const ReplayPlace& to, const Range& own) {
  const PanelForm& form = call.panels;
  const MatrixStrides& strides = call.from_strides;
  for (int64_t block = own.begin; block < own.end; ++block) {
    const int64_t matrix = block / form.blocks() * call.from_matrix;
    const int64_t first = block % form.blocks() * form.width;
    for (int64_t c = first; c < std::min(first + form.width, form.unit); ++c) {
      for (int64_t k = 0; k < form.k; ++k) {
        for (int64_t part = 0; part < form.parts; ++part) {
          const int64_t at = k * strides.k + c * strides.column + part * strides.part;
          memory.read(from.moved(matrix + at), 4);
        }
      }
    }
    memory.write(to.moved(block * form.block_bytes()), form.block_bytes());
  }
}

void replay_table(ReplayMemory& memory, const TableCall& call, const ReplayedTable& places,
                  const Range& own) {
  memory.read(places.indices, call.count * size_of(call.index_dtype));
  const auto each_own = [&](const auto& visit) {
    for (int64_t i = own.begin; i < own.end; ++i) visit(i * call.row_bytes);
  };
  if (!call.has_table())
    return each_own([&](int64_t at) { memory.write(places.rows.moved(at), call.row_bytes); });
  if (call.op == TableOp::gather) {
    if (!own.empty()) memory.read(places.table, call.table_rows * call.row_bytes);
    each_own([&](int64_t at) { memory.write(places.rows.moved(at), call.row_bytes); });
    return;
  }
  memory.read(places.rows, call.count * call.row_bytes);
  if (call.op == TableOp::merge_rows) {
    const int64_t size = size_of(call.distinct_dtype);
    each_own([&](int64_t at) { memory.write(places.table.moved(at), call.row_bytes); });
    memory.write(places.distinct.moved(own.begin * size), (own.end - own.begin) * size);
    return;
  }
  each_own([&](int64_t at) {
    memory.read(places.table.moved(at), call.row_bytes);
    memory.write(places.table.moved(at), call.row_bytes);
  });
}

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Recurrent kernels: a scan whose step has a model of rows, its matrices in panels.
#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/lower/context.h"
#include "codegen/lower/panels.h"
#include "codegen/lower/scan_views.h"
#include "codegen/lower/unneeded.h"
#include "ir/op.h"
#include "passes/kernels/kernel.h"

namespace graphc::core {
namespace {

/// Whether workers share out the columns of each step, with a barrier after every stage, and not
/// the rows, without barriers. Sharing rows is slower where a worker's rows would not fill a tile
/// (or two, of panels that do not stay in the cache): then every worker reads all panels for a few
/// rows. Columns pay if a worker saves more time reading than the barriers take.
bool shares_columns(const LowerContext& context, const std::vector<NestCall>& calls, int64_t rows) {
  const int64_t workers = context.machine().workers;
  int64_t bytes = 0, tile_rows = 0, stages = 0;
  for (const NestCall& call : calls) {
    const NestProgram& program = context.plan().programs[size_t(call.program)];
    for (const CallProduct& product : call.products) bytes += product.panels.bytes();
    if (!call.products.empty()) tile_rows = std::max<int64_t>(tile_rows, program.tile.rows);
    ++stages;
  }
  const int64_t tiles = bytes > context.machine().kept_bytes ? 2 : 1;
  return workers > 1 && rows < tiles * workers * tile_rows &&
         bytes - bytes / workers >= stages * context.machine().barrier_bytes;
}

/// What the carries of a kernel's scan begin with, outside the kernel where that is an operand.
Values initial_values(const Scan& scan, const Node& kernel) {
  const std::vector<Value>& inputs = kernel.region().inputs();
  Values values;
  for (const Value value : scan.initial()) {
    const auto input = std::ranges::find(inputs, value);
    values.push_back(input == inputs.end() ? value
                                           : kernel.operands[size_t(input - inputs.begin())]);
  }
  return values;
}

}  // namespace

void lower_recurrent(LowerContext& context, const Kernel& kernel, const std::vector<View>& inputs,
                     ViewMap& views, ViewMap& wanted) {
  const Node& node = kernel.node();
  const Scan scan(kernel.first());
  const std::optional<RowModel>& rows = kernel.rows();
  if (!rows)
    throw input_error({}, "a recurrent kernel whose step has no row model: {}",
                      kernel.why_no_rows());
  LoopCall loop;
  const int id = context.new_loop_id();
  const ScanViews bound = bind_scan(context, scan, inputs, node, wanted, id, rows->groups);
  publish(scan, bound, node, views);
  if (scan.steps() == 0) return;
  loop.carries = bound.carries;
  loop.name = node.names[0];
  loop.steps = scan.steps();
  loop.reverse = scan.reverse();
  loop.where = scan.node().where;
  loop.rows = rows->rows();
  loop.matrices = rows->groups > 0;
  const int first_buffer = int(context.plan().buffers.size());
  std::vector<NestCall> calls =
      lower_rows(context, kernel.step(), *rows, {bound.inputs, bound.results, loop.name, false});
  make_panels(context, calls);
  mark_zero_products(context, initial_values(scan, node), bound, scan.streams().size(), calls);
  // What repeats along some axes of the rows only keeps them apart: rows cannot be shared out.
  loop.private_rows = std::ranges::all_of(
      calls, [&](const NestCall& call) { return call.outer.empty() && call.rows == loop.rows; });
  if (shares_columns(context, calls, loop.rows)) loop.private_rows = false;
  loop.id = loop.private_rows ? -1 : id;
  for (NestCall& call : calls) loop.body.push_back({Family::recurrent, std::move(call)});
  mark_idle_at_last(context, scan, node, bound, first_buffer, loop.body);
  context.note_loop();
  context.add(Family::recurrent, std::move(loop));
}

}  // namespace graphc::core

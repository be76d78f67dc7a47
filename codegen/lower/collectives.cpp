// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/collectives.h"

#include "codegen/step/collectives.h"
#include "codegen/step/view.h"
#include "ir/op.h"
#include "ir/sent.h"

namespace graphc::core {
namespace {

/// Where the result is written: one stretch of bytes.
View contiguous_destination(LowerContext& context, Value result, const ViewMap& wanted) {
  const View view = context.destination(result, wanted);
  return view.contiguous() ? view : context.temporary(result.type(), result.name());
}

/// The type in which ranks send values.
DType sent_by(const Node& node) {
  const DType dtype = node.operands[0].dtype();
  return node.is(ops::all_reduce) && dtype == DType::f32 ? sent_as(node) : dtype;
}

void check(const Node& node) {
  const bool reduces = node.is(ops::all_reduce);
  for (const Value operand : node.operands) {
    const DType dtype = operand.dtype();
    const bool known = reduces ? dtype == DType::f32 || dtype == DType::f64
                               : node.attributes.get_int("axis", 0) == 0;
    GRAPHC_CHECK(known, "{} of {} before the pass collectives", node.op.name,
                 to_string(operand.type()));
  }
}

}  // namespace

bool lower_collective(LowerContext& context, const Node& node, ViewMap& views,
                      const ViewMap& wanted) {
  if (!is_collective(node.op)) return false;
  check(node);
  const int64_t ranks = node.attributes.get_int("ranks", 1);
  const int64_t terms = node.attributes.get_int("terms", 1);
  const std::string& name = node.names[0];
  std::vector<ExternOperand> reads, writes;
  for (const Value operand : node.operands) {
    const View from = context.straight(views.get(operand), name);
    if (const int64_t bytes = operand.type().bytes(); bytes > 0)
      reads.push_back({"from", from.address, bytes});
  }
  for (int i = 0; i < node.results(); ++i) {
    const Value result = node.result(i);
    const View to = contiguous_destination(context, result, wanted);
    views.set(result, to);
    if (const int64_t bytes = result.type().bytes(); bytes > 0)
      writes.push_back({"to", to.address, bytes, true});
  }
  if (reads.empty()) return true;
  ExternCall call{
      .name = name, .function = std::string(node.op.name), .parameters = {}, .operands = {}};
  call.parameters = {{"call", context.collectives++},
                     {"ranks", ranks},
                     {"terms", terms},
                     {"dtype", int64_t(node.operands[0].dtype())},
                     {"sent", int64_t(sent_by(node))}};
  call.operands = reads;
  call.operands.insert(call.operands.end(), writes.begin(), writes.end());
  ExternCall wait = wait_for(call);
  context.add(std::nullopt, std::move(call));
  context.add(std::nullopt, std::move(wait));
  return true;
}

}  // namespace graphc::core

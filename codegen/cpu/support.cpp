// SPDX-License-Identifier: Apache-2.0
#include "codegen/cpu/support.h"

#include <algorithm>
#include <unordered_set>

#include "ir/op.h"

namespace graphc::cpu {
namespace {

void check_program(const Node& node) {
  const ScalarCode program = scalar_code(node);
  for (const ScalarInstruction& instruction : program.code) {
    if (instruction.a < 0 || instruction.op == ScalarOp::argument) continue;
    const DType dtype = program.code[size_t(instruction.a)].dtype;
    if (has_code(instruction.op, dtype)) continue;
    throw input_error(node.where, "the CPU target has no code for {} of {}",
                      name_of(instruction.op), name_of(dtype));
  }
}

bool touches(const Node& node, DType dtype) {
  return std::any_of(node.types.begin(), node.types.end(),
                     [&](const Type& type) { return type.dtype == dtype; }) ||
         std::any_of(node.operands.begin(), node.operands.end(),
                     [&](graphc::Value operand) { return operand.dtype() == dtype; });
}

/// Rows of any type may be moved.
bool moves_rows(const Node& node) { return node.is(ops::gather) || node.is(ops::scatter); }

class Checker {
 public:
  void check(const Graph& graph, bool in_kernel) {
    if (!seen_.insert(&graph).second) return;
    for (const Node& node : graph.nodes()) {
      if (node.is(ops::input) || node.is(ops::state)) continue;
      const bool computes = node.is(ops::constant) || (in_kernel && !moves_rows(node));
      if (computes && touches(node, DType::bf16))
        throw input_error(node.where, "the CPU target does not compute in bf16");
      if (is_elementwise(node.op) && touches(node, DType::f64)) check_program(node);
      for (const GraphPtr& region : node.regions) check(*region, in_kernel || node.is(ops::kernel));
    }
  }

 private:
  std::unordered_set<const Graph*> seen_;
};

}  // namespace

bool has_code(ScalarOp op, DType operand_dtype) {
  if (operand_dtype != DType::f64) return operand_dtype != DType::bf16;
  return op != ScalarOp::floor && is_exact({{{op, operand_dtype}}, 0});
}

void check_supported(const Graph& graph) { Checker().check(graph, false); }

}  // namespace graphc::cpu

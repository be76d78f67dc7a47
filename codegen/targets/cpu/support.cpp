// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cpu/support.h"

#include <algorithm>
#include <unordered_set>

#include "ir/op.h"

namespace graphc::core::cpu {
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
                     [&](graphc::core::Value operand) { return operand.dtype() == dtype; });
}

class Checker {
 public:
  void check(const Graph& graph) {
    if (!seen_.insert(&graph).second) return;
    for (const Node& node : graph.nodes()) {
      if (is_elementwise(node.op) && touches(node, DType::f64)) check_program(node);
      for (const GraphPtr& region : node.regions) check(*region);
    }
  }

 private:
  std::unordered_set<const Graph*> seen_;
};

}  // namespace

bool has_code(ScalarOp op, DType operand_dtype) {
  if (operand_dtype != DType::f64) return true;
  return op != ScalarOp::floor && is_exact({{{op, operand_dtype}}, 0});
}

void check_supported(const Graph& graph) { Checker().check(graph); }

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
#include "codegen/nest/contracted_products.h"

namespace graphc::core {
namespace {

std::vector<int> uses_in(const NestProgram& program) {
  std::vector<int> uses(program.body.size());
  for (const NestInstruction& in : program.body) {
    for (const int each : {in.a, in.b, in.c}) {
      if (each >= 0) ++uses[size_t(each)];
    }
  }
  return uses;
}

bool is_addition(const NestInstruction& in) {
  return in.kind == NestOp::scalar && (in.op == ScalarOp::add || in.op == ScalarOp::sub);
}

/// Sums of bf16 are computed in f32.
DType sum_type(const NestProgram& program, const NestInstruction& in) {
  if (in.kind != NestOp::reduce) return in.dtype;
  const DType dtype = program.operands[size_t(in.operand)].dtype;
  return dtype == DType::bf16 ? DType::f32 : dtype;
}

}  // namespace

std::vector<int> contracted_products(const NestProgram& program, const std::vector<bool>& shares) {
  std::vector<int> found(program.body.size(), -1);
  if (!program.contracts) return found;
  const std::vector<int> uses = uses_in(program);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const NestInstruction& in = program.body[i];
    const bool is_sum = in.kind == NestOp::reduce &&
                        program.operands[size_t(in.operand)].kind == OperandKind::reduce_sum;
    if (!is_sum && !is_addition(in)) continue;
    const DType dtype = sum_type(program, in);
    if (dtype != DType::f32 && dtype != DType::f64) continue;
    for (const int each : {in.a, is_sum ? -1 : in.b}) {
      if (each < 0 || found[i] >= 0) continue;
      const NestInstruction& product = program.body[size_t(each)];
      const bool is_whole = !is_sum && !shares.empty() && shares[i] && !shares[size_t(each)];
      if (product.kind == NestOp::scalar && product.op == ScalarOp::mul && product.dtype == dtype &&
          uses[size_t(each)] == 1 && !is_whole)
        found[i] = each;
    }
  }
  return found;
}

}  // namespace graphc::core

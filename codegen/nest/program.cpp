// SPDX-License-Identifier: Apache-2.0
#include "codegen/nest/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphc::core {
namespace {

constexpr const char* kind_names[] = {"tiles", "rows", "columns"};
constexpr const char* operand_names[] = {"load",    "store",      "iota",
                                         "literal", "reduce_sum", "reduce_max"};
constexpr const char* column_names[] = {"", " by none", " by stride"};

std::string text_of(const NestInstruction& in, size_t index) {
  switch (in.kind) {
    case NestOp::load:
      return fmt::format("  %{} = load {}.{} : {}\n", index, in.operand, in.part,
                         name_of(in.dtype));
    case NestOp::product:
      return fmt::format("  %{} = product {}.{} : {}\n", index, in.operand, in.part,
                         name_of(in.dtype));
    case NestOp::store:
      return fmt::format("  store %{}, {}.{}\n", in.a, in.operand, in.part);
    case NestOp::reduce:
      return fmt::format("  reduce %{}, {}.{}\n", in.a, in.operand, in.part);
    case NestOp::scalar:
      break;
  }
  std::string text = fmt::format("  %{} = {}", index, name_of(in.op));
  for (int operand : {in.a, in.b, in.c}) {
    if (operand >= 0) text += fmt::format(" %{}", operand);
  }
  return text + fmt::format(" : {}\n", name_of(in.dtype));
}

}  // namespace

bool NestProgram::looks_for_maximum() const {
  const auto finds = [](const NestOperand& operand) {
    return operand.kind == OperandKind::reduce_max && is_floating(operand.dtype);
  };
  const auto compares = [&](const NestInstruction& in) {
    return in.kind == NestOp::scalar && in.op == ScalarOp::equal &&
           is_floating(body[size_t(in.a)].dtype);
  };
  return std::ranges::any_of(operands, finds) || std::ranges::any_of(body, compares);
}

std::string NestProgram::text() const {
  std::string text = fmt::format("{}{}{} {{\n", few_terms ? "few terms " : "",
                                 contracts ? "contracted " : "", kind_names[size_t(kind)]);
  for (size_t i = 0; i < operands.size(); ++i) {
    const NestOperand& operand = operands[i];
    text += fmt::format("  operand {}: {} {}{}{}{}\n", i, operand_names[size_t(operand.kind)],
                        name_of(operand.dtype), column_names[size_t(operand.column)],
                        operand.by_row ? "" : " all rows", operand.streaming ? " streaming" : "");
  }
  for (size_t i = 0; i < products.size(); ++i) {
    const NestProduct& product = products[i];
    text += fmt::format("  product {}: {} x {} -> {}, {} part{}{}\n", i, name_of(product.left),
                        name_of(product.right), name_of(product.sum), product.parts,
                        product.parts == 1 ? "" : "s",
                        product.factors == Factors::as_stored
                            ? std::string()
                            : fmt::format(", factors {}", name_of(product.factors)));
  }
  for (size_t i = 0; i < body.size(); ++i) text += text_of(body[i], i);
  return text + "}\n";
}

}  // namespace graphc::core

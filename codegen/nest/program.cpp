// SPDX-License-Identifier: Apache-2.0
#include "codegen/nest/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphc {
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
      return fmt::format("  %{} = product {}.{} : f32\n", index, in.operand, in.part);
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

std::string NestProgram::text() const {
  std::string text = fmt::format("{} {{\n", kind_names[size_t(kind)]);
  for (size_t i = 0; i < operands.size(); ++i) {
    const NestOperand& operand = operands[i];
    text += fmt::format("  operand {}: {} {}{}{}\n", i, operand_names[size_t(operand.kind)],
                        name_of(operand.dtype), column_names[size_t(operand.column)],
                        operand.by_row ? "" : " all rows");
  }
  for (size_t i = 0; i < product_parts.size(); ++i) {
    text += fmt::format("  product {}: {} part{}\n", i, product_parts[i],
                        product_parts[i] == 1 ? "" : "s");
  }
  for (size_t i = 0; i < body.size(); ++i) text += text_of(body[i], i);
  return text + "}\n";
}

TileShape tile_shape(const NestProgram& program, int lanes, int registers) {
  TileShape shape;
  shape.lanes = lanes;
  int parts = 1;
  for (int p : program.product_parts) parts = std::max(parts, p);
  shape.accumulators = registers >= 32 ? 24 : 12;
  shape.vectors = std::max(1, 4 / parts);
  if (program.kind == NestKind::tiles) {
    shape.rows = std::clamp(shape.accumulators / (shape.vectors * std::min(parts, 8)), 1, 8);
  } else if (program.kind == NestKind::row_wise) {
    shape.vectors = 1;
  }
  return shape;
}

}  // namespace graphc

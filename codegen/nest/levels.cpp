// SPDX-License-Identifier: Apache-2.0
#include "codegen/nest/levels.h"

#include <algorithm>

namespace graphc::core {
namespace {

Level level_of_load(const NestProgram& program, const NestOperand& operand) {
  if (operand.kind == OperandKind::literal) return Level::once;
  if (operand.column != ColumnStep::none) return Level::element;
  if (!operand.by_row) return Level::once;
  // Column-wise nests iterate over rows within a column, so every row is another element.
  return program.kind == NestKind::column_wise ? Level::element : Level::row;
}

Level own_level(const NestProgram& program, const NestInstruction& in) {
  switch (in.kind) {
    case NestOp::load:
      return level_of_load(program, program.operands[size_t(in.operand)]);
    case NestOp::scalar:
      return Level::once;
    case NestOp::product:
    case NestOp::store:
    case NestOp::reduce:
      return Level::element;
  }
  return Level::element;
}

}  // namespace

std::vector<Level> levels_of(const NestProgram& program) {
  std::vector<Level> levels;
  for (const NestInstruction& in : program.body) {
    Level level = own_level(program, in);
    for (int operand : {in.a, in.b, in.c}) {
      if (operand >= 0) level = std::max(level, levels[size_t(operand)]);
    }
    levels.push_back(level);
  }
  return levels;
}

}  // namespace graphc::core

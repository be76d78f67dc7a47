// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/row_steps.h"

#include <algorithm>

namespace graphc::core::cpu {

bool RowSteps::prepare(const LoopCall& loop, int depth) {
  bound_.clear();
  for (const Record& record : loop.body) {
    const auto* call = std::get_if<NestCall>(&record.call);
    if (call == nullptr || !call->products.empty() || call->outer.size() > 1) return false;
    Nest nest;
    nest.record = &record;
    nest.call = call;
    nest.function = nests_[size_t(call->program)].function;
    nest.arguments.row_end = call->rows;
    nest.arguments.column_end = call->unit;
    for (const CallOperand& operand : call->operands) {
      int64_t step = 0;
      for (const Address::Term& term : operand.address.terms) {
        if (term.loop == depth) step += term.step;
      }
      nest.advance.push_back(2 * (loop.reverse ? -step : step));
    }
    for (auto& operands : nest.operands) operands.resize(call->operands.size());
    bound_.push_back(std::move(nest));
  }
  return true;
}

void RowSteps::bind(Nest& nest, int64_t step, int64_t row, const Position& position,
                    char* const* bases) {
  const NestCall& call = *nest.call;
  const NestProgram& program = plan_.programs[size_t(call.program)];
  std::vector<NestOperandArguments>& operands = nest.operands[size_t(step % 2)];
  for (size_t i = 0; i < operands.size(); ++i) {
    const CallOperand& from = call.operands[i];
    NestOperandArguments& to = operands[i];
    to.row = from.row;
    to.part = from.part;
    to.column = from.column;
    const OperandKind kind = program.operands[i].kind;
    if (kind == OperandKind::literal) {
      to.base = const_cast<char*>(from.literal.data());
      continue;
    }
    auto base = intptr_t(from.base);
    if (kind != OperandKind::iota) {
      const BufferPlace place = resolve(from.address, position);
      base = reinterpret_cast<intptr_t>(bases[place.buffer] + place.offset);
    }
    if (!call.outer.empty()) base += row * from.outer[0];
    to.base = reinterpret_cast<void*>(base);
  }
  if (!call.outer.empty()) return;
  nest.arguments.row_begin = row;
  nest.arguments.row_end = row + 1;
}

bool RowSteps::run(const LoopCall& loop, const Range& rows, const Position& position, int depth,
                   char* const* bases) {
  if (!prepare(loop, depth)) return false;
  Position at = position;
  at.resize(std::max(at.size(), size_t(depth) + 1));
  constexpr int64_t kBound = 3;  // the first step may find carries elsewhere
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t step = 0; step < loop.steps; ++step) {
      if (step < kBound) at[size_t(depth)] = position_in(loop, step);
      for (Nest& nest : bound_) {
        std::vector<NestOperandArguments>& operands = nest.operands[size_t(step % 2)];
        if (step < kBound) {
          bind(nest, step, row, at, bases);
        } else {
          for (size_t i = 0; i < operands.size(); ++i)
            operands[i].base = static_cast<char*>(operands[i].base) + nest.advance[i];
        }
        if (nest.record->idle_at_last && step + 1 == loop.steps) continue;
        nest.arguments.operands = operands.data();
        nest.function(&nest.arguments);
      }
    }
  }
  return true;
}

}  // namespace graphc::core::cpu

// SPDX-License-Identifier: Apache-2.0
#include "codegen/walk/row_steps.h"

#include <algorithm>
#include <utility>

#include "codegen/step/visit.h"

namespace graphc::core::cpu {

std::optional<RowSteps::Nest> RowSteps::prepared(const NestCall& call, const LoopCall& loop,
                                                 int depth) const {
  const bool in_panels = std::ranges::all_of(call.products, &CallProduct::in_panels) &&
                         !nests_[size_t(call.program)].by_matrix_tiles;
  if (call.outer.size() > 1 || !in_panels) return std::nullopt;
  Nest nest;
  nest.call = &call;
  nest.function = nests_[size_t(call.program)].function;
  nest.arguments.row_end = call.rows;
  nest.arguments.column_end = call.unit;
  const auto bytes_of_two_steps = [&](const Address& address) {
    int64_t step = 0;
    for (const Address::Term& term : address.terms) {
      if (term.loop == depth) step += term.step;
    }
    return 2 * (loop.reverse ? -step : step);
  };
  for (const CallOperand& operand : call.operands)
    nest.advance.push_back(bytes_of_two_steps(operand.address));
  for (const CallProduct& product : call.products)
    nest.advance_left.push_back(bytes_of_two_steps(product.a));
  for (auto& operands : nest.operands) operands.resize(call.operands.size());
  for (auto& products : nest.products) products.resize(call.products.size());
  nest.arguments.panel_group = panel_group_;
  return nest;
}

std::optional<RowSteps::Loop> RowSteps::prepared(const LoopCall& loop, int depth) const {
  Loop made{.call = &loop, .depth = size_t(depth), .items = {}};
  for (const Record& record : loop.body) {
    Item item{.record = &record, .nest = {}, .loop = nullptr};
    if (const LoopCall* inside = loop_of_phases(record)) {
      std::optional<Loop> inner = prepared(*inside, depth + 1);
      if (!inner) return std::nullopt;
      item.loop = std::make_unique<Loop>(std::move(*inner));
    } else {
      std::optional<Nest> nest = prepared(std::get<NestCall>(record.call), loop, depth);
      if (!nest) return std::nullopt;
      item.nest = std::move(*nest);
    }
    made.items.push_back(std::move(item));
  }
  return made;
}

char* RowSteps::resolved(const Address& address) const {
  const BufferPlace place = resolve(address, position_);
  return bases_[place.buffer] + place.offset;
}

void RowSteps::bind_products(Nest& nest, int64_t step, int64_t row) const {
  const NestCall& call = *nest.call;
  std::vector<NestProductArguments>& products = nest.products[size_t(step % 2)];
  for (size_t i = 0; i < products.size(); ++i) {
    const CallProduct& from = call.products[i];
    products[i] = {resolved(from.a) + row * from.outer[0],
                   from.a_row,
                   from.a_k,
                   resolved(from.b) + row * from.right_outer[0],
                   from.panels.block_bytes(),
                   step == 0 && from.zeros_at_first ? 0 : from.panels.k};
  }
}

void RowSteps::bind(Nest& nest, int64_t step, int64_t row) const {
  bind_products(nest, step, row);
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
    if (kind != OperandKind::iota) base = reinterpret_cast<intptr_t>(resolved(from.address));
    if (!call.outer.empty()) base += row * from.outer[0];
    to.base = reinterpret_cast<void*>(base);
  }
  if (!call.outer.empty()) return;
  nest.arguments.row_begin = row;
  nest.arguments.row_end = row + 1;
}

void RowSteps::steps(Loop& loop, int64_t row) {
  constexpr int64_t kBound = 3;  // the first step may find carries elsewhere
  const bool has_loops =
      std::ranges::any_of(loop.items, [](const Item& item) { return item.loop != nullptr; });
  for (int64_t step = 0; step < loop.call->steps; ++step) {
    if (step < kBound || has_loops) position_[loop.depth] = position_in(*loop.call, step);
    for (Item& item : loop.items) {
      const bool idle = item.record->idle_at_last && step + 1 == loop.call->steps;
      if (item.loop != nullptr) {
        if (!idle) steps(*item.loop, row);
        continue;
      }
      Nest& nest = item.nest;
      std::vector<NestOperandArguments>& operands = nest.operands[size_t(step % 2)];
      std::vector<NestProductArguments>& products = nest.products[size_t(step % 2)];
      if (step < kBound) {
        bind(nest, step, row);
      } else {
        for (size_t i = 0; i < operands.size(); ++i)
          operands[i].base = static_cast<char*>(operands[i].base) + nest.advance[i];
        for (size_t i = 0; i < products.size(); ++i)
          products[i].a = static_cast<const char*>(products[i].a) + nest.advance_left[i];
      }
      if (idle) continue;
      nest.arguments.operands = operands.data();
      nest.arguments.products = products.data();
      nest.function(&nest.arguments);
    }
  }
}

bool RowSteps::run(const LoopCall& loop, const Range& rows, const Position& position, int depth,
                   char* const* bases) {
  std::optional<Loop> all = prepared(loop, depth);
  if (!all) return false;
  position_ = position;
  position_.resize(std::max(position_.size(), size_t(plan_.loop_depth)));
  bases_ = bases;
  for (int64_t row = rows.begin; row < rows.end; ++row) steps(*all, row);
  return true;
}

}  // namespace graphc::core::cpu

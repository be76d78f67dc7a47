// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/cuda/emulator/compiler.h"
#include "tests/cuda/emulator/operations.h"
#include "tests/cuda/emulator/ptx.h"

namespace graphc::core::cuda_emulator {

void Compiler::statement(const Statement& one) {
  line_ = one.position.line;
  const Mark before = mark();
  switch (one.kind) {
    case StatementKind::block:
      for (const StatementPtr& part : one.body) statement(*part);
      break;
    case StatementKind::declaration:
      return declaration(one);  // the variable stays
    case StatementKind::expression:
      discard(*one.first);
      break;
    case StatementKind::choice:
      choice(one);
      break;
    case StatementKind::loop:
      loop(one);
      break;
    case StatementKind::do_while:
      do_while(one);
      break;
    case StatementKind::stop:
      loops_.back().stops.push_back(jump(Control::jump));
      break;
    case StatementKind::next:
      loops_.back().nexts.push_back(jump(Control::jump));
      break;
    case StatementKind::give:
      give(one);
      break;
    case StatementKind::assembly:
      assembly(one);
      break;
  }
  back_to(before);
}

void Compiler::declaration(const Statement& one) {
  const Symbol& symbol = *one.symbol;
  const bool wide = is_wide(held(symbol.type));
  Place place;
  if (symbol.in_memory)
    place = {false, special(special_local), int64_t(reserve_local(symbol.type))};
  else
    place.slot = reserve(wide);
  const Mark before = mark();
  if (one.first && symbol.in_memory) {
    store(place, symbol.type, value(*one.first));
  } else if (one.first) {
    value(*one.first, place.slot);
  } else {
    emit(one.zeroed ? zero_local() : begin_local(), 0, place.slot, uint32_t(symbol.type.bytes()), 0,
         place.offset);
  }
  back_to(before);
  calls_.back().places[&symbol] = place;
}

/// Jumps where the condition is as `when` says.
void Compiler::branch(const Expression& condition, bool when, Jumps& jumps) {
  if (condition.kind == ExpressionKind::unary && condition.sign == '!')
    return branch(*condition.parts[0], !when, jumps);
  if (condition.kind != ExpressionKind::logical || is_cheap(*condition.parts[1])) {
    const Mark before = mark();
    jumps.push_back(jump(when ? Control::branch_if : Control::branch_unless, value(condition)));
    return back_to(before);
  }
  // One operand alone decides if it is false for &&, true for ||.
  const bool decides = condition.sign == '|';
  if (decides == when) {
    branch(*condition.parts[0], when, jumps);
    branch(*condition.parts[1], when, jumps);
  } else {
    Jumps decided;
    branch(*condition.parts[0], decides, decided);
    branch(*condition.parts[1], when, jumps);
    land(decided);
  }
}

void Compiler::choice(const Statement& one) {
  Jumps otherwise, done;
  branch(*one.first, false, otherwise);
  statement(*one.body[0]);
  if (!one.body[1]) return land(otherwise);
  done.push_back(jump(Control::jump));
  land(otherwise);
  statement(*one.body[1]);
  land(done);
}

void Compiler::loop(const Statement& one) {
  if (one.body[0])
    for (const StatementPtr& before : one.body[0]->body) statement(*before);
  loops_.emplace_back();
  const int line = line_;
  const int64_t top = int64_t(program_->code.size());
  if (one.first) branch(*one.first, false, loops_.back().stops);
  statement(*one.body[1]);
  land(loops_.back().nexts);
  line_ = line;
  if (one.second) discard(*one.second);
  jump(Control::jump, 0, top);
  land(loops_.back().stops);
  loops_.pop_back();
}

void Compiler::do_while(const Statement& one) {
  loops_.emplace_back();
  const int64_t top = int64_t(program_->code.size());
  statement(*one.body[0]);
  land(loops_.back().nexts);
  line_ = one.first->position.line;
  Jumps again;
  branch(*one.first, true, again);
  for (const size_t at : again) program_->code[at].immediate = top;
  land(loops_.back().stops);
  loops_.pop_back();
}

void Compiler::give(const Statement& one) {
  if (calls_.size() == 1) {
    jump(Control::leave);
    return;
  }
  if (one.first) value(*one.first, calls_.back().result);
  calls_.back().returns.push_back(jump(Control::jump));
}

/// The instruction finds what it reads in registers one behind another, and leaves its results so.
void Compiler::assembly(const Statement& one) {
  const PtxInstruction& ptx = *one.ptx;
  const size_t results = ptx.results(), all = ptx.operands();
  std::vector<char> types;
  std::vector<uint32_t> slots;
  for (const PtxGroup& group : ptx.groups)
    types.insert(types.end(), size_t(group.count), group.type);
  for (const char type : types) slots.push_back(reserve(type == 'l'));
  std::vector<Place> places;
  for (size_t i = 0; i < results; ++i) places.push_back(place(*one.operands[size_t(one.order[i])]));
  for (size_t i = results; i < all; ++i) value(*one.operands[size_t(one.order[i])], slots[i]);
  size_t first_read = results;
  if (results == 0) {
    const auto wide = std::ranges::find(types, 'l');
    if (wide != types.end()) first_read = size_t(wide - types.begin());
  }
  const uint32_t whole_warp = constant(Held::u32, ~0u);
  const size_t at =
      slots.empty() ? emit(ptx.operation, 0, whole_warp)
                    : emit(ptx.operation, slots[0], whole_warp, slots[first_read], slots.back());
  program_->code[at].control = ptx.control;
  for (size_t i = 0; i < results; ++i)
    store(places[i], one.operands[size_t(one.order[i])]->type, slots[i]);
}

}  // namespace graphc::core::cuda_emulator

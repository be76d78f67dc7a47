// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/compiler.h"

#include <algorithm>

#include "tests/cuda/emulator/operations.h"

namespace graphc::core::cuda_emulator {
namespace {

/// Mark the slots of wide registers, and of those that each warp begins with, until all are
/// counted.
constexpr uint32_t wide_bit = 1u << 30, preset_bit = 1u << 31;

}  // namespace

std::unique_ptr<const Program> Compiler::program() {
  program_ = std::make_unique<Program>();
  program_->name = kernel_.name;
  program_->most_threads = kernel_.most_threads;
  program_->static_shared = kernel_.shared_bytes;
  for (const auto& symbol : kernel_.symbols)
    program_->has_dynamic_shared |= symbol->storage == Storage::dynamic_shared;
  calls_.emplace_back();
  calls_.back().function = &kernel_;
  line_ = kernel_.position.line;
  parameters();
  for (const StatementPtr& one : kernel_.body->body) statement(*one);
  jump(Control::leave);
  finish();
  return std::move(program_);
}

void Compiler::parameters() {
  for (size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const Symbol& symbol = *kernel_.parameters[i];
    program_->parameters.push_back({symbol.type.bytes(), symbol.type.pointer});
    const bool wide = is_wide(held(symbol.type));
    const uint32_t slot = preset(program_->parameter_slots, wide, i);
    Place& place = calls_.back().places[&symbol];
    place.slot = slot;
    if (symbol.in_memory) {
      place = {false, special(special_local), int64_t(reserve_local(symbol.type))};
      store(place, symbol.type, slot);
    } else if (symbol.assigned) {
      place.slot = reserve(wide);
      emit(move_of(wide), place.slot, slot);
    }
  }
}

size_t Compiler::emit(Operation operation, uint32_t result, uint32_t a, uint32_t b, uint32_t c,
                      int64_t immediate) {
  Instruction one;
  one.operation = operation;
  one.result = result;
  one.a = a;
  one.b = b;
  one.c = c;
  one.immediate = immediate;
  program_->code.push_back(one);
  program_->lines.push_back(line_);
  return program_->code.size() - 1;
}

size_t Compiler::jump(Control control, uint32_t a, int64_t target) {
  const size_t at = emit(nullptr, 0, a, 0, 0, target);
  program_->code[at].control = control;
  return at;
}

void Compiler::land(const Jumps& jumps) {
  for (const size_t at : jumps) program_->code[at].immediate = int64_t(program_->code.size());
}

uint32_t Compiler::reserve(bool wide) {
  uint32_t &used = wide ? wide_ : narrow_, &most = wide ? most_wide_ : most_narrow_;
  const uint32_t slot = wide ? used | wide_bit : used;
  used += wide ? 2 * register_bytes : register_bytes;
  most = std::max(most, used);
  return slot;
}

uint64_t Compiler::reserve_local(const Type& type) {
  const uint64_t align = std::max<uint64_t>(type.align(), 4);
  const uint64_t offset = (local_ + align - 1) / align * align;
  local_ = offset + type.bytes();
  most_local_ = std::max(most_local_, local_);
  return offset;
}

uint32_t Compiler::preset(std::vector<Preset>& presets, bool wide, uint64_t bits) {
  const uint32_t slot = presets_ | preset_bit;
  presets_ += wide ? 2 * register_bytes : register_bytes;
  presets.push_back({slot, wide, bits});
  return slot;
}

uint32_t Compiler::special(uint64_t which) {
  const auto [at, added] = specials_.try_emplace(which, 0);
  if (added) at->second = preset(program_->specials, which >= special_shared, which);
  return at->second;
}

uint32_t Compiler::constant(Held held, uint64_t bits) {
  const bool wide = is_wide(held);
  const auto [at, added] = constants_.try_emplace({wide, bits}, 0);
  if (added) at->second = preset(program_->constants, wide, bits);
  return at->second;
}

void Compiler::back_to(const Mark& mark) {
  narrow_ = mark.narrow;
  wide_ = mark.wide;
  local_ = mark.local;
}

void Compiler::finish() {
  // An operand that an operation does not have is the frame's first bytes, which it may read.
  const uint32_t wide = std::max(most_narrow_, 2 * register_bytes);
  const uint32_t first = wide + most_wide_;
  const auto placed = [&](uint32_t& slot) {
    if (slot & preset_bit)
      slot = (slot & ~preset_bit) + first;
    else if (slot & wide_bit)
      slot = (slot & ~wide_bit) + wide;
  };
  for (auto* presets : {&program_->parameter_slots, &program_->constants, &program_->specials})
    for (Preset& one : *presets) placed(one.slot);
  for (Instruction& one : program_->code) {
    placed(one.result);
    placed(one.a);
    placed(one.b);
    placed(one.c);
  }
  program_->frame_bytes = first + presets_;
  program_->local_bytes = (most_local_ + 15) / 16 * 16;
}

}  // namespace graphc::core::cuda_emulator

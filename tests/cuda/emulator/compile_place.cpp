// SPDX-License-Identifier: Apache-2.0
// Where expressions have a place: variables, elements, what pointers lead to.
#include "tests/cuda/emulator/compiler.h"
#include "tests/cuda/emulator/operations.h"
#include "tests/cuda/emulator/parser.h"

namespace graphc::core::cuda_emulator {

Compiler::Place Compiler::variable_place(const Symbol& symbol) {
  if (symbol.storage == Storage::shared)
    return {false, special(special_shared), int64_t(symbol.offset)};
  if (symbol.storage == Storage::dynamic_shared) return {true, special(special_dynamic), 0};
  return calls_.back().places.at(&symbol);
}

Compiler::Place Compiler::place(const Expression& one) {
  if (one.kind == ExpressionKind::variable) return variable_place(*one.symbol);
  if (one.kind == ExpressionKind::index) return element(one);
  return {false, value(*one.parts[0]), 0};
}

Compiler::Place Compiler::element(const Expression& one) {
  const Expression &base = *one.parts[0], &index = *one.parts[1];
  const int64_t bytes = int64_t(one.type.bytes());
  const bool is_array = base.type.is_array();
  const int64_t extent = is_array ? base.type.extents[0] : 0;
  Place from = is_array ? place(base) : Place{false, value(base), 0};
  const std::optional<int64_t> known = known_integer(index);
  if (known && (!is_array || (*known >= 0 && *known < extent))) {
    from.offset += *known * bytes;
    return from;
  }
  const uint32_t at = value(index);
  const uint32_t result = reserve(true);
  if (!is_array) {
    emit(pointer_sum_of(held(index.type)), result, from.slot, at, 0, bytes);
  } else {
    const Expression* array = &base;
    while (array->kind == ExpressionKind::index) array = array->parts[0].get();
    program_->names.push_back(array->symbol ? array->symbol->name : "array");
    emit(element_of(held(index.type)), result, from.slot, at, uint32_t(program_->names.size() - 1),
         bytes | extent << 32);
  }
  from.slot = result;
  return from;
}

uint32_t Compiler::load(const Place& from, const Type& type, uint32_t into) {
  if (from.in_register) return into == anywhere ? from.slot : moved(from.slot, type, into);
  const uint32_t result = into == anywhere ? reserve(is_wide(held(type))) : into;
  emit(load_of(type), result, from.slot, 0, 0, from.offset);
  return result;
}

void Compiler::store(const Place& to, const Type& type, uint32_t stored) {
  if (to.in_register)
    moved(stored, type, to.slot);
  else
    emit(store_of(type), 0, to.slot, stored, 0, to.offset);
}

uint32_t Compiler::address(const Place& of, uint32_t into) {
  if (of.offset == 0 && into == anywhere) return of.slot;
  const uint32_t result = into == anywhere ? reserve(true) : into;
  emit(add_offset(), result, of.slot, 0, 0, of.offset);
  return result;
}

}  // namespace graphc::core::cuda_emulator

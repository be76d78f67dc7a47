// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "tests/cuda/emulator/builtins.h"
#include "tests/cuda/emulator/compiler.h"
#include "tests/cuda/emulator/operations.h"

namespace graphc::core::cuda_emulator {
namespace {

int weight(const Expression& one) {
  constexpr int heavy = 100;
  const bool integer = one.type.is_integral();
  switch (one.kind) {
    case ExpressionKind::constant:
    case ExpressionKind::special:
      return 0;
    case ExpressionKind::variable:
      return one.symbol->in_memory ? heavy : 0;
    case ExpressionKind::binary:
      if (one.sign == 'l' || one.sign == 'r' || (integer && (one.sign == '/' || one.sign == '%')))
        return heavy;
      break;
    case ExpressionKind::unary:
    case ExpressionKind::convert:
    case ExpressionKind::logical:
    case ExpressionKind::conditional:
      break;
    default:
      return heavy;
  }
  int sum = 1;
  for (const ExpressionPtr& part : one.parts) sum += weight(*part);
  return sum;
}

}  // namespace

bool is_cheap(const Expression& one) { return weight(one) <= 6; }

uint32_t Compiler::result_slot(const Expression& one, uint32_t into) {
  return into == anywhere ? reserve(is_wide(held(one.type))) : into;
}

uint32_t Compiler::moved(uint32_t from, const Type& type, uint32_t into) {
  if (into == anywhere || into == from) return from;
  emit(move_of(is_wide(held(type))), into, from);
  return into;
}

uint32_t Compiler::constant_value(const Expression& one) {
  const Held as = held(one.type);
  if (as == Held::f32) return constant(as, std::bit_cast<uint32_t>(float(one.floating)));
  if (as == Held::f64) return constant(as, std::bit_cast<uint64_t>(one.floating));
  return constant(as, is_wide(as) ? uint64_t(one.integer) : uint32_t(one.integer));
}

void Compiler::discard(const Expression& one) {
  const Mark before = mark();
  if (one.kind == ExpressionKind::step)
    step(one, anywhere, false);
  else
    value(one);
  back_to(before);
}

uint32_t Compiler::value(const Expression& one, uint32_t into) {
  switch (one.kind) {
    case ExpressionKind::constant:
      return moved(constant_value(one), one.type, into);
    case ExpressionKind::special:
      return moved(special(uint64_t(one.integer)), one.type, into);
    case ExpressionKind::variable:
    case ExpressionKind::index:
    case ExpressionKind::dereference:
      return load(place(one), one.type, into);
    case ExpressionKind::unary:
      return unary(one, into);
    case ExpressionKind::binary:
      return binary(one, into);
    case ExpressionKind::logical:
      return logical(one, into);
    case ExpressionKind::conditional:
      return conditional(one, into);
    case ExpressionKind::assign:
      return assign(one, into);
    case ExpressionKind::step:
      return step(one, into, one.integer != 0);
    case ExpressionKind::address:
      return address(place(*one.parts[0]), into);
    case ExpressionKind::convert:
      return convert(one, into);
    case ExpressionKind::call:
      return call(one, into);
    case ExpressionKind::builtin:
      return builtin(one, into);
    case ExpressionKind::sequence:
      break;
  }
  for (size_t i = 0; i + 1 < one.parts.size(); ++i) discard(*one.parts[i]);
  return value(*one.parts.back(), into);
}

uint32_t Compiler::unary(const Expression& one, uint32_t into) {
  const uint32_t a = value(*one.parts[0]);
  const uint32_t result = result_slot(one, into);
  emit(unary_of(one.sign, held(one.type)), result, a);
  return result;
}

/// a and b have the type; for a pointer, b is an integer.
uint32_t Compiler::arithmetic(char sign, const Type& type, uint32_t a, const Expression& b,
                              uint32_t b_slot, uint32_t into) {
  const uint32_t result = into == anywhere ? reserve(is_wide(held(type))) : into;
  if (type.pointer) {
    const int64_t bytes = int64_t(bytes_of(type.scalar));
    emit(pointer_sum_of(held(b.type)), result, a, b_slot, 0, sign == '-' ? -bytes : bytes);
  } else {
    emit(binary_of(sign, held(type)), result, a, b_slot);
  }
  return result;
}

uint32_t Compiler::binary(const Expression& one, uint32_t into) {
  const Expression &left = *one.parts[0], &right = *one.parts[1];
  const uint32_t a = value(left);
  const uint32_t b = value(right);
  if (one.type.pointer) return arithmetic(one.sign, one.type, a, right, b, into);
  const uint32_t result = result_slot(one, into);
  if (left.type.pointer && one.sign == '-')
    emit(pointer_difference(), result, a, b, 0, int64_t(bytes_of(left.type.scalar)));
  else
    emit(binary_of(one.sign, held(left.type)), result, a, b);
  return result;
}

uint32_t Compiler::logical(const Expression& one, uint32_t into) {
  if (is_cheap(*one.parts[1])) {
    const uint32_t a = value(*one.parts[0]);
    const uint32_t b = value(*one.parts[1]);
    const uint32_t both = result_slot(one, into);
    emit(logical_of(one.sign), both, a, b);
    return both;
  }
  // Not at once where it is wanted: the second operand may still read that.
  const uint32_t result = reserve(false);
  value(*one.parts[0], result);
  const size_t decided =
      jump(one.sign == '|' ? Control::branch_if : Control::branch_unless, result);
  value(*one.parts[1], result);
  land({decided});
  return moved(result, one.type, into);
}

uint32_t Compiler::conditional(const Expression& one, uint32_t into) {
  const Expression &yes = *one.parts[1], &no = *one.parts[2];
  const bool nothing = one.type.is(Scalar::nothing);
  if (!nothing && is_cheap(yes) && is_cheap(no)) {
    const uint32_t a = value(*one.parts[0]), b = value(yes), c = value(no);
    const uint32_t result = result_slot(one, into);
    emit(selection_of(is_wide(held(one.type))), result, a, b, c);
    return result;
  }
  const uint32_t result = result_slot(one, into);
  Jumps otherwise, done;
  branch(*one.parts[0], false, otherwise);
  value(yes, nothing ? anywhere : result);
  done.push_back(jump(Control::jump));
  land(otherwise);
  value(no, nothing ? anywhere : result);
  land(done);
  return result;
}

uint32_t Compiler::assign(const Expression& one, uint32_t into) {
  const Expression &target = *one.parts[0], &given = *one.parts[1];
  if (one.sign == '\0') {
    const bool in_register = target.kind == ExpressionKind::variable && !target.symbol->in_memory;
    if (in_register) return moved(value(given, place(target).slot), one.type, into);
    const uint32_t stored = value(given);
    store(place(target), one.type, stored);
    return moved(stored, one.type, into);
  }
  const uint32_t b = value(given);
  const Place at = place(target);
  uint32_t a = load(at, one.type, anywhere);
  const bool same = one.common.pointer || one.common.scalar == one.type.scalar;
  if (!same) {
    const uint32_t wider = reserve(is_wide(held(one.common)));
    emit(conversion_of(held(one.type), one.common), wider, a);
    a = wider;
  }
  uint32_t result = at.in_register ? at.slot : reserve(is_wide(held(one.type)));
  const uint32_t sum = arithmetic(one.sign, one.common, a, given, b, same ? result : anywhere);
  if (!same) emit(conversion_of(held(one.common), one.type), result, sum);
  if (!at.in_register) store(at, one.type, result);
  return moved(result, one.type, into);
}

uint32_t Compiler::step(const Expression& one, uint32_t into, bool old_value) {
  const Place at = place(*one.parts[0]);
  const bool wide = is_wide(held(one.type));
  uint32_t before = load(at, one.type, anywhere);
  if (old_value && at.in_register) {
    const uint32_t old = reserve(wide);
    emit(move_of(wide), old, before);
    before = old;
  }
  const uint32_t after = at.in_register ? at.slot : reserve(wide);
  if (one.type.pointer) {
    const int64_t bytes = int64_t(bytes_of(one.type.scalar));
    emit(add_offset(), after, before, 0, 0, one.sign == '-' ? -bytes : bytes);
  } else {
    const Held as = held(one.type);
    uint64_t bits = 1;
    if (as == Held::f32) bits = std::bit_cast<uint32_t>(1.0f);
    if (as == Held::f64) bits = std::bit_cast<uint64_t>(1.0);
    emit(binary_of(one.sign, as), after, before, constant(as, bits));
    if (one.type.scalar != Scalar::i32 && as == Held::i32)
      emit(conversion_of(as, one.type), after, after);
  }
  if (!at.in_register) store(at, one.type, after);
  return moved(old_value ? before : after, one.type, into);
}

uint32_t Compiler::convert(const Expression& one, uint32_t into) {
  const Expression& from = *one.parts[0];
  if (one.type.is(Scalar::nothing)) {
    discard(from);
    return into == anywhere ? reserve(false) : into;
  }
  const Held was = held(from.type), is = held(one.type);
  const bool narrows = one.type.is_scalar() && bytes_of(one.type.scalar) < 4;
  const bool integers = was != Held::f32 && was != Held::f64 && is != Held::f32 && is != Held::f64;
  // Registers hold the same bits.
  if (integers && is_wide(was) == is_wide(is) && !narrows) return value(from, into);
  const uint32_t a = value(from);
  const uint32_t result = result_slot(one, into);
  emit(conversion_of(was, one.type), result, a);
  return result;
}

Compiler::Place Compiler::argument(const Expression& one, const Symbol& parameter) {
  Place place;
  if (parameter.in_memory) {
    const uint32_t given = value(one);
    place = {false, special(special_local), int64_t(reserve_local(parameter.type))};
    store(place, parameter.type, given);
  } else if (parameter.assigned) {
    place.slot = reserve(is_wide(held(parameter.type)));
    value(one, place.slot);
  } else {
    place.slot = value(one);
  }
  return place;
}

uint32_t Compiler::call(const Expression& one, uint32_t into) {
  const Function& function = *one.function;
  const int line = line_;
  // Not at once where it is wanted: an argument may be that variable.
  const uint32_t result = reserve(is_wide(held(one.type)));
  Call inner;
  inner.function = &function;
  inner.result = result;
  for (size_t i = 0; i < one.parts.size(); ++i)
    inner.places[function.parameters[i]] = argument(*one.parts[i], *function.parameters[i]);
  calls_.push_back(std::move(inner));
  std::vector<Loop> around;
  around.swap(loops_);
  inline_body(function);
  around.swap(loops_);
  land(calls_.back().returns);
  calls_.pop_back();
  line_ = line;
  if (one.type.is(Scalar::nothing)) return result;
  return moved(result, one.type, into);
}

void Compiler::inline_body(const Function& function) {
  const Mark before = mark();
  const auto& body = function.body->body;
  const bool ends = !body.empty() && body.back()->kind == StatementKind::give;
  for (size_t i = 0; i + (ends ? 1 : 0) < body.size(); ++i) statement(*body[i]);
  if (ends) {
    line_ = body.back()->position.line;
    if (body.back()->first) value(*body.back()->first, calls_.back().result);
  } else if (!function.result.is(Scalar::nothing)) {
    emit(no_result(), 0, 0);
  }
  back_to(before);
}

uint32_t Compiler::builtin(const Expression& one, uint32_t into) {
  uint32_t given[3] = {0, 0, 0};
  for (size_t i = 0; i < one.parts.size(); ++i) given[i] = value(*one.parts[i]);
  const uint32_t result = result_slot(one, into);
  const size_t at = emit(one.builtin->operation, result, given[0], given[1], given[2]);
  program_->code[at].control = one.builtin->control;
  return result;
}

}  // namespace graphc::core::cuda_emulator

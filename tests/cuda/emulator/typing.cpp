// SPDX-License-Identifier: Apache-2.0
// C's conversions, and what each operator takes.
#include <fmt/format.h>

#include <algorithm>

#include "tests/cuda/emulator/parser.h"

namespace graphc::core::cuda_emulator {
namespace {

Type scalar_type(Scalar scalar) {
  Type type;
  type.scalar = scalar;
  return type;
}

Scalar promoted_scalar(Scalar scalar) {
  return is_integer(scalar) && bytes_of(scalar) < 4 ? Scalar::i32 : scalar;
}

bool is_comparison(char sign) { return std::string_view("<>LGEN").find(sign) != std::string::npos; }
bool is_shift(char sign) { return sign == 'l' || sign == 'r'; }
bool needs_integers(char sign) {
  return std::string_view("%&|^lr").find(sign) != std::string::npos;
}

std::string written(char sign) {
  static const std::map<char, std::string> longer = {{'l', "<<"}, {'r', ">>"}, {'L', "<="},
                                                     {'G', ">="}, {'E', "=="}, {'N', "!="}};
  const auto found = longer.find(sign);
  return found == longer.end() ? std::string(1, sign) : found->second;
}

bool same_place(const Type& a, const Type& b) {
  return a.pointer == b.pointer && a.scalar == b.scalar && a.extents == b.extents;
}

}  // namespace

Scalar common_scalar(Scalar a, Scalar b) {
  return std::max(promoted_scalar(a), promoted_scalar(b));  // they are declared in C's order
}

ExpressionPtr Parser::node(ExpressionKind kind, Position position, Type type) const {
  ExpressionPtr result = std::make_unique<Expression>();
  result->kind = kind;
  result->position = position;
  result->type = std::move(type);
  return result;
}

/// An array becomes a pointer to its first element.
ExpressionPtr Parser::decayed(ExpressionPtr value) const {
  if (!value->type.is_array()) return value;
  if (value->type.extents.size() > 1)
    fail(value->position, fmt::format("found the array {} as a value, wanted all of its indices "
                                      "but one",
                                      value->type.to_string()));
  if (value->type.pointer)
    fail(value->position, "found an array of pointers as a value, wanted an element of it");
  Type type = scalar_type(value->type.scalar);
  type.pointer = true;
  type.to_const = value->type.to_const;
  ExpressionPtr result = node(ExpressionKind::address, value->position, type);
  result->parts.push_back(std::move(value));
  return result;
}

ExpressionPtr Parser::promoted(ExpressionPtr value) const {
  value = decayed(std::move(value));
  if (!value->type.is_arithmetic()) return value;
  const Type type = scalar_type(promoted_scalar(value->type.scalar));
  return converted(std::move(value), type);
}

ExpressionPtr Parser::converted(ExpressionPtr value, const Type& to, bool by_cast) const {
  value = decayed(std::move(value));
  const Type from = value->type;
  if (same_place(from, to) && (!from.pointer || from.to_const == to.to_const)) return value;
  bool allowed = from.is_arithmetic() && to.is_arithmetic();
  if (from.pointer && to.pointer) {
    const bool loses_const = from.to_const && !to.to_const;
    allowed =
        by_cast || ((from.scalar == to.scalar || to.scalar == Scalar::nothing) && !loses_const);
  } else if (from.pointer) {
    allowed = to.is(Scalar::boolean) || (by_cast && (to.is(Scalar::u64) || to.is(Scalar::i64)));
  } else if (to.pointer) {
    allowed = by_cast && (from.is(Scalar::u64) || from.is(Scalar::i64));
  }
  if (to.is(Scalar::nothing)) allowed = by_cast;
  if (!allowed)
    fail(value->position,
         fmt::format("found a value of type {}, wanted {}", from.to_string(), to.to_string()));
  ExpressionPtr result = node(ExpressionKind::convert, value->position, to);
  result->parts.push_back(std::move(value));
  return result;
}

ExpressionPtr Parser::condition(ExpressionPtr value) const {
  return converted(std::move(value), scalar_type(Scalar::boolean));
}

ExpressionPtr Parser::make_pointer_sum(char sign, ExpressionPtr left, ExpressionPtr right,
                                       Position position) const {
  if (right->type.pointer && sign == '+') std::swap(left, right);
  const Type type = left->type;
  const bool difference = sign == '-' && right->type.pointer;
  if (type.scalar == Scalar::nothing || !type.pointer ||
      (difference ? right->type.scalar != type.scalar : !right->type.is_integral()))
    fail(position, fmt::format("found {} {} {}, wanted a pointer and an integer", type.to_string(),
                               sign, right->type.to_string()));
  if (!difference) right = promoted(std::move(right));
  ExpressionPtr result =
      node(ExpressionKind::binary, position, difference ? scalar_type(Scalar::i64) : type);
  result->sign = sign;
  result->parts.push_back(std::move(left));
  result->parts.push_back(std::move(right));
  return result;
}

ExpressionPtr Parser::make_binary(char sign, ExpressionPtr left, ExpressionPtr right,
                                  Position position) const {
  left = promoted(std::move(left));
  right = promoted(std::move(right));
  const bool pointers = left->type.pointer || right->type.pointer;
  if (pointers && (sign == '+' || sign == '-'))
    return make_pointer_sum(sign, std::move(left), std::move(right), position);
  const bool comparable = left->type.pointer && right->type.pointer && is_comparison(sign);
  const bool integral = left->type.is_integral() && right->type.is_integral();
  if (!comparable && (!left->type.is_arithmetic() || !right->type.is_arithmetic() ||
                      (needs_integers(sign) && !integral)))
    fail(position, fmt::format("found {} {} {}, wanted operands of the operator",
                               left->type.to_string(), written(sign), right->type.to_string()));
  Type type = left->type;
  if (is_shift(sign)) {
    right = converted(std::move(right), scalar_type(Scalar::u32));
  } else if (!comparable) {
    type = scalar_type(common_scalar(left->type.scalar, right->type.scalar));
    left = converted(std::move(left), type);
    right = converted(std::move(right), type);
  }
  ExpressionPtr result = node(ExpressionKind::binary, position,
                              is_comparison(sign) ? scalar_type(Scalar::boolean) : type);
  result->sign = sign;
  result->parts.push_back(std::move(left));
  result->parts.push_back(std::move(right));
  return result;
}

ExpressionPtr Parser::make_unary(char sign, ExpressionPtr value, Position position) const {
  value = sign == '!' ? condition(std::move(value)) : promoted(std::move(value));
  if (!value->type.is_arithmetic() || (sign == '~' && !value->type.is_integral()))
    fail(position, fmt::format("found {}{}, wanted an operand of the operator", sign,
                               value->type.to_string()));
  if (sign == '+') return value;
  ExpressionPtr result = node(ExpressionKind::unary, position, value->type);
  result->sign = sign;
  result->parts.push_back(std::move(value));
  return result;
}

/// Something that has a place: in memory or, a variable, in a register.
void Parser::want_place(const Expression& place, bool written_to) const {
  const bool variable = place.kind == ExpressionKind::variable;
  if (!variable && place.kind != ExpressionKind::index && place.kind != ExpressionKind::dereference)
    fail(place.position, "found a value, wanted a variable or an element");
  if (variable && place.symbol->storage == Storage::dynamic_shared)
    fail(place.position, "found the dynamic shared memory itself, wanted an element");
  if (!written_to) return;
  if (place.type.is_array())
    fail(place.position, "found an array to be assigned, wanted an element");
  bool is_const = variable && place.symbol->is_const;
  if (!variable) is_const = place.parts[0]->type.to_const && !place.type.pointer;
  if (is_const) fail(place.position, "found a constant to be assigned, wanted a variable");
  if (variable) place.symbol->assigned = true;
}

ExpressionPtr Parser::make_assignment(char sign, ExpressionPtr place, ExpressionPtr value,
                                      Position position) const {
  want_place(*place, true);
  ExpressionPtr result = node(ExpressionKind::assign, position, place->type);
  result->sign = sign;
  result->common = place->type;
  if (sign == '\0') {
    value = converted(std::move(value), place->type);
  } else if (place->type.pointer) {
    value = promoted(std::move(value));
    if ((sign != '+' && sign != '-') || !value->type.is_integral() ||
        place->type.scalar == Scalar::nothing)
      fail(position, fmt::format("found {} {}= {}, wanted a pointer and an integer",
                                 place->type.to_string(), written(sign), value->type.to_string()));
  } else {
    value = promoted(std::move(value));
    const bool integral = place->type.is_integral() && value->type.is_integral();
    if (!value->type.is_arithmetic() || (needs_integers(sign) && !integral))
      fail(position, fmt::format("found {} {}= {}, wanted operands of the operator",
                                 place->type.to_string(), written(sign), value->type.to_string()));
    result->common =
        scalar_type(is_shift(sign) ? promoted_scalar(place->type.scalar)
                                   : common_scalar(place->type.scalar, value->type.scalar));
    value = converted(std::move(value), is_shift(sign) ? scalar_type(Scalar::u32) : result->common);
  }
  result->parts.push_back(std::move(place));
  result->parts.push_back(std::move(value));
  return result;
}

ExpressionPtr Parser::make_step(char sign, bool old_value, ExpressionPtr place,
                                Position position) const {
  want_place(*place, true);
  if (place->type.is(Scalar::boolean) ||
      (place->type.pointer && place->type.scalar == Scalar::nothing))
    fail(position, fmt::format("found {}{} of {}, wanted a number or a pointer", sign, sign,
                               place->type.to_string()));
  ExpressionPtr result = node(ExpressionKind::step, position, place->type);
  result->sign = sign;
  result->integer = old_value;
  result->parts.push_back(std::move(place));
  return result;
}

ExpressionPtr Parser::make_index(ExpressionPtr base, ExpressionPtr index, Position position) const {
  index = promoted(std::move(index));
  if (!index->type.is_integral() || (!base->type.pointer && !base->type.is_array()) ||
      (!base->type.is_array() && base->type.scalar == Scalar::nothing))
    fail(position, fmt::format("found {}[{}], wanted an array or a pointer and an integer",
                               base->type.to_string(), index->type.to_string()));
  ExpressionPtr result = node(ExpressionKind::index, position, base->type.element());
  result->parts.push_back(std::move(base));
  result->parts.push_back(std::move(index));
  return result;
}

ExpressionPtr Parser::make_dereference(ExpressionPtr pointer, Position position) const {
  pointer = decayed(std::move(pointer));
  if (!pointer->type.pointer || pointer->type.scalar == Scalar::nothing)
    fail(position, fmt::format("found *{}, wanted a pointer", pointer->type.to_string()));
  ExpressionPtr result = node(ExpressionKind::dereference, position, pointer->type.element());
  result->parts.push_back(std::move(pointer));
  return result;
}

ExpressionPtr Parser::make_address(ExpressionPtr place, Position position) const {
  want_place(*place, false);
  if (place->type.is_array() || place->type.pointer)
    fail(position,
         fmt::format("found the address of {}, wanted that of a scalar", place->type.to_string()));
  Type type = place->type;
  type.pointer = true;
  if (place->kind == ExpressionKind::variable) {
    type.to_const = place->symbol->is_const;
    place->symbol->in_memory = true;
    place->symbol->assigned = true;
  } else {
    type.to_const = place->parts[0]->type.to_const;
  }
  ExpressionPtr result = node(ExpressionKind::address, position, type);
  result->parts.push_back(std::move(place));
  return result;
}

ExpressionPtr Parser::make_conditional(ExpressionPtr choice, ExpressionPtr yes, ExpressionPtr no,
                                       Position position) const {
  choice = condition(std::move(choice));
  yes = decayed(std::move(yes));
  no = decayed(std::move(no));
  Type type = yes->type;
  if (yes->type.is_arithmetic() && no->type.is_arithmetic()) {
    type = yes->type.scalar == no->type.scalar
               ? yes->type
               : scalar_type(common_scalar(yes->type.scalar, no->type.scalar));
  } else if (!same_place(yes->type, no->type)) {
    fail(position, fmt::format("found {} or {}, wanted two values of a type", yes->type.to_string(),
                               no->type.to_string()));
  } else {
    type.to_const |= no->type.to_const;
  }
  ExpressionPtr result = node(ExpressionKind::conditional, position, type);
  yes = type.is(Scalar::nothing) ? std::move(yes) : converted(std::move(yes), type);
  no = type.is(Scalar::nothing) ? std::move(no) : converted(std::move(no), type);
  result->parts.push_back(std::move(choice));
  result->parts.push_back(std::move(yes));
  result->parts.push_back(std::move(no));
  return result;
}

std::optional<int64_t> known_integer(const Expression& expression) {
  std::vector<int64_t> parts;
  if (!expression.type.is_integral()) return std::nullopt;
  if (expression.kind == ExpressionKind::constant) return expression.integer;
  if (expression.kind == ExpressionKind::variable) return expression.symbol->known;
  for (const ExpressionPtr& part : expression.parts) {
    const std::optional<int64_t> value = known_integer(*part);
    if (!value) return std::nullopt;
    parts.push_back(*value);
  }
  const auto fits = [](int64_t value) { return value == int64_t(int32_t(value)); };
  std::optional<int64_t> result;
  if (expression.kind == ExpressionKind::convert && bytes_of(expression.type.scalar) >= 4)
    result = parts[0];
  if (expression.kind == ExpressionKind::unary && expression.sign == '-') result = -parts[0];
  if (expression.kind == ExpressionKind::binary) {
    const int64_t a = parts[0], b = parts[1];
    if (!fits(a) || !fits(b)) return std::nullopt;
    if (expression.sign == '+') result = a + b;
    if (expression.sign == '-') result = a - b;
    if (expression.sign == '*') result = a * b;
    if (expression.sign == '/' && b != 0) result = a / b;
    if (expression.sign == '%' && b != 0) result = a % b;
    if (expression.sign == 'l' && b >= 0 && b < 31) result = a << b;
    if (expression.sign == 'r' && b >= 0 && b < 31) result = a >> b;
  }
  return result && fits(*result) ? result : std::nullopt;
}

}  // namespace graphc::core::cuda_emulator

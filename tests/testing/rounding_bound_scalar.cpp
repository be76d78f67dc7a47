// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/rounding_bound_scalar.h"

#include <cmath>
#include <optional>

namespace graphc::core::testing {
namespace {

Value as_number(Value x) { return cast(x, DType::f32); }

const Op& op_of(ScalarOp op) {
  const Op* found = find_op(name_of(op));
  GRAPHC_CHECK(found != nullptr, "no bound for the error of {}", name_of(op));
  return *found;
}

/// The roundings of a result: 5 ulp for elementary functions, each up to two units; a quotient may
/// be a product with a rounded reciprocal.
double roundings(ScalarOp op) {
  const bool elementary = op == ScalarOp::sqrt || !is_exact({{{op, DType::f32}}, 0});
  if (elementary) return 10;
  if (op == ScalarOp::div) return 3;
  return op == ScalarOp::add || op == ScalarOp::sub || op == ScalarOp::mul ? 1 : 0;
}

/// The effect of an operand error e on y = op(a).
Value carried(ScalarOp op, Value a, Value e, Value y) {
  const auto nearest_to_zero = [&] { return maximum(abs(a) - e, 0.0); };
  switch (op) {
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::logical_not:
      return e;
    case ScalarOp::exp:
      return y * expm1(e);
    case ScalarOp::expm1:
      return (y + 1.0) * expm1(e);
    case ScalarOp::log1p:
      return select(less(e, a + 1.0), neg(log1p(neg(e / (a + 1.0)))), kInfinite);
    case ScalarOp::log:
      return select(less(e, a), neg(log1p(neg(e / a))), kInfinite);
    case ScalarOp::sqrt:
      return select(equal(e, 0.0), 0.0, select(less_equal(e, a), e / (y + sqrt(a - e)), kInfinite));
    case ScalarOp::tanh:
      return minimum((1.0 - square(tanh(nearest_to_zero()))) * e, 2.0);
    case ScalarOp::sigmoid: {
      // On negative numbers, where 1 - sigmoid does not cancel.
      const Value steepest = sigmoid(neg(nearest_to_zero()));
      return minimum(steepest * (1.0 - steepest) * e, 1.0);
    }
    case ScalarOp::sin:
    case ScalarOp::cos:
      return minimum(e, 2.0);
    case ScalarOp::floor:
      return maximum(floor(a + e) - y, y - floor(a - e));
    default:
      GRAPHC_CHECK(false, "no bound for the error of {}", name_of(op));
  }
}

/// A base that may be negative only has integer powers.
Value carried_by_power(Value a, Value ea, Value b, Value eb, Value y) {
  // The logarithm of the power is b log a; near zero the power may be anything up to its maximum.
  const Value change_of_log = neg(log1p(neg(ea / abs(a))));
  Value change = abs(b) * change_of_log;
  if (eb) change = change + eb * (abs(log(abs(a))) + change_of_log);
  const Value near_zero = select(less(0.0, b), pow(abs(a) + ea, b) + abs(y), kInfinite);
  const Value error = select(less(ea, abs(a)), abs(y) * expm1(change), near_zero);
  Value whole = equal(floor(b), b);
  if (eb) whole = logical_and(whole, equal(eb, 0.0));
  return select(logical_or(less(ea, a), whole), error, kInfinite);
}

/// The effect of errors ea and eb, not both absent, on y = op(a, b).
Value carried(ScalarOp op, const Bounded& left, const Bounded& right, Value y) {
  const Value a = left.value, ea = left.error, b = right.value, eb = right.error;
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::sub:
      return sum_of_errors(ea, eb);
    case ScalarOp::mul: {
      Value error;
      if (ea) error = ea * abs(b);
      if (eb) error = sum_of_errors(error, abs(a) * eb);
      return ea && eb ? error + ea * eb : error;
    }
    case ScalarOp::div: {
      if (!eb) return ea / abs(b);
      const Value least = abs(b) - eb;
      const Value error = sum_of_errors(ea, abs(y) * eb);
      return select(less(0.0, least), error / least, kInfinite);
    }
    case ScalarOp::maximum:
    case ScalarOp::minimum:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
      return larger_error(ea, eb);
    case ScalarOp::pow:
      return carried_by_power(a, ea ? ea : neg(a) * 0.0, b, eb, y);
    default:
      GRAPHC_CHECK(false, "no bound for the error of {}", name_of(op));
  }
}

/// The error of a comparison: whether the errors can flip it.
Value may_turn(const Bounded& a, const Bounded& b) {
  const Value error = sum_of_errors(a.error, b.error);
  if (!error) return {};
  const Value distance = abs(as_number(a.value) - as_number(b.value));
  return as_number(logical_and(less(0.0, error), less_equal(distance, error)));
}

Value of_selected(const Bounded& condition, const Bounded& a, const Bounded& b) {
  Value error;
  if (a.error || b.error) {
    error = select(condition.value, a.error ? Operand(a.error) : Operand(0.0),
                   b.error ? Operand(b.error) : Operand(0.0));
  }
  if (!condition.error) return error;
  const Value distance = abs(as_number(a.value) - as_number(b.value));
  const Value either = sum_of_errors(larger_error(a.error, b.error), distance);
  return select(less(0.0, condition.error), either, error ? Operand(error) : Operand(0.0));
}

Value of_cast(const Bounded& from, DType to) {
  const Value a = from.value, e = from.error;
  if (to == DType::bf16 && is_floating(a.dtype()) && a.dtype() != to) {
    const Value rounding = abs(as_number(a)) * 0x1.01p-8 + 0x1p-126;
    return e ? rounding + e * (1 + 0x1p-7) : rounding;
  }
  if (!e || is_floating(to) || !is_floating(a.dtype())) return e;
  if (to == DType::boolean) return may_turn(from, {as_number(less(a, a)), {}});
  const Value least = floor(maximum(abs(a) - e, 0.0)), most = floor(abs(a) + e);
  return select(less(least, most), e + 1.0, 0.0);
}

Value error_of(const ScalarInstruction& instruction, const std::vector<Bounded>& x, Value y) {
  const bool same = x.size() == 2 && x[0].value == x[1].value;
  switch (instruction.op) {
    case ScalarOp::sub:
      if (same) return {};
      break;
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_equal:
      return same ? Value() : may_turn(x[0], x[1]);
    case ScalarOp::select:
      return of_selected(x[0], x[1], x[2]);
    case ScalarOp::cast:
      return of_cast(x[0], instruction.dtype);
    default:
      break;
  }
  Value error;
  if (x.size() == 1 && x[0].error) {
    error = carried(instruction.op, as_number(x[0].value), x[0].error, as_number(y));
  } else if (x.size() == 2 && (x[0].error || x[1].error)) {
    error = carried(instruction.op, {as_number(x[0].value), x[0].error},
                    {as_number(x[1].value), x[1].error}, as_number(y));
  }
  const double units = is_floating(y.dtype()) ? roundings(instruction.op) : 0;
  return units > 0 ? rounded(y, error, units) : error;
}

Bounded run_instruction(const ScalarInstruction& instruction, const std::vector<Bounded>& done,
                        Graph& to) {
  if (instruction.op == ScalarOp::constant) {
    const Value value = scalar_constant(to, instruction.constant, instruction.dtype);
    const bool exact = !is_floating(instruction.dtype) || is_held(instruction.constant.as_double());
    return {value, exact ? Value() : rounded(value, {}, 1)};
  }
  std::vector<Bounded> operands;
  Values values;
  for (int index : {instruction.a, instruction.b, instruction.c}) {
    if (index < 0) continue;
    operands.push_back(done[size_t(index)]);
    values.push_back(operands.back().value);
  }
  Attributes attributes;
  if (instruction.op == ScalarOp::cast) attributes.set("dtype", instruction.dtype);
  const Value y = to.add(op_of(instruction.op), values, attributes).result();
  return {y, error_of(instruction, operands, y)};
}

/// Ops in whose programs errors cancel, which bounds ignore: log1p and expm1 are within 5 ulp
/// themselves, and softplus adds one of them to a number.
std::optional<Bounded> run_whole(const Node& node, const std::vector<Bounded>& operands,
                                 Graph& to) {
  const bool log = node.is(ops::log1p), exponential = node.is(ops::expm1);
  if (!log && !exponential && !node.is(ops::softplus)) return {};
  const Value x = operands[0].value, e = operands[0].error;
  const Value y = to.add(node.op, {x}).result();
  Value error = e;
  if (e && exponential) error = (y + 1.0) * expm1(e);
  if (e && log) error = select(less(e, x + 1.0), neg(log1p(neg(e / (x + 1.0)))), kInfinite);
  return Bounded{y, rounded(y, error, log || exponential ? 10 : 21)};
}

}  // namespace

Value larger_error(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  return maximum(a, b);
}

Value sum_of_errors(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  return a + b;
}

bool is_held(double number) {
  const bool denormal = number != 0 && std::abs(number) < kSmallestNormal;
  return double(float(number)) == number && !denormal;
}

Value rounded(Value value, Value error, double units, double flushes) {
  return sum_of_errors(error, abs(value) * (units * kUnitRoundoff) + flushes * kSmallestNormal);
}

Bounded run_elementwise(const Node& node, const std::vector<Bounded>& operands, Graph& to) {
  if (const auto whole = run_whole(node, operands, to)) return *whole;
  const ScalarCode program = scalar_code(node);
  std::vector<Bounded> done;
  for (const ScalarInstruction& instruction : program.code) {
    done.push_back(instruction.op == ScalarOp::argument ? operands[size_t(instruction.a)]
                                                        : run_instruction(instruction, done, to));
  }
  return done[size_t(program.result)];
}

}  // namespace graphc::core::testing

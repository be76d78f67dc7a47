// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: runs the scalar program instruction by instruction over blocks of elements, so
// that dispatch happens once per block and registers stay in cache.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/evaluate_ops.h"

namespace graphc::core::evaluation {
namespace {

constexpr int64_t kBlock = 256;

template <typename From, typename To, typename Function>
void map(const From* a, To* result, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) result[i] = function(a[i]);
}
template <typename From, typename To, typename Function>
void map(const From* a, const From* b, To* result, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) result[i] = function(a[i], b[i]);
}

double smaller(double a, double b) { return a != a || b != b ? a + b : (b < a ? b : a); }

/// Arithmetic on floating-point values.
void compute(ScalarOp op, const double* a, const double* b, double* y, int64_t n) {
  switch (op) {
    case ScalarOp::neg:
      return map(a, y, n, [](double v) { return -v; });
    case ScalarOp::abs:
      return map(a, y, n, [](double v) { return std::fabs(v); });
    case ScalarOp::exp:
      return map(a, y, n, [](double v) { return std::exp(v); });
    case ScalarOp::expm1:
      return map(a, y, n, [](double v) { return std::expm1(v); });
    case ScalarOp::log:
      return map(a, y, n, [](double v) { return std::log(v); });
    case ScalarOp::log1p:
      return map(a, y, n, [](double v) { return std::log1p(v); });
    case ScalarOp::sqrt:
      return map(a, y, n, [](double v) { return std::sqrt(v); });
    case ScalarOp::tanh:
      return map(a, y, n, [](double v) { return std::tanh(v); });
    case ScalarOp::sigmoid:
      return map(a, y, n, [](double v) { return 1 / (1 + std::exp(-v)); });
    case ScalarOp::sin:
      return map(a, y, n, [](double v) { return std::sin(v); });
    case ScalarOp::cos:
      return map(a, y, n, [](double v) { return std::cos(v); });
    case ScalarOp::floor:
      return map(a, y, n, [](double v) { return std::floor(v); });
    case ScalarOp::add:
      return map(a, b, y, n, [](double u, double v) { return u + v; });
    case ScalarOp::sub:
      return map(a, b, y, n, [](double u, double v) { return u - v; });
    case ScalarOp::mul:
      return map(a, b, y, n, [](double u, double v) { return u * v; });
    case ScalarOp::div:
      return map(a, b, y, n, [](double u, double v) { return u / v; });
    case ScalarOp::maximum:
      return map(a, b, y, n, larger);
    case ScalarOp::minimum:
      return map(a, b, y, n, smaller);
    case ScalarOp::pow:
      return map(a, b, y, n, [](double u, double v) { return std::pow(u, v); });
    default:
      GRAPHC_CHECK(false, "{} on floating-point values", name_of(op));
  }
}

/// Arithmetic on integers, modulo 2^64; the caller wraps to the width. Logical shifts need the
/// operand without sign extension: `mask` has the bits of the type.
void compute(ScalarOp op, const int64_t* a, const int64_t* b, int64_t* y, int64_t n,
             uint64_t mask) {
  using U = uint64_t;
  const auto each = [&](auto function) {
    map(a, b, y, n, [&](int64_t u, int64_t v) { return int64_t(function(U(u), U(v))); });
  };
  switch (op) {
    case ScalarOp::neg:
      return map(a, y, n, [](int64_t v) { return int64_t(-U(v)); });
    case ScalarOp::abs:
      return map(a, y, n, [](int64_t v) { return int64_t(v < 0 ? -U(v) : U(v)); });
    case ScalarOp::logical_not:
      return map(a, y, n, [](int64_t v) { return int64_t(v == 0); });
    case ScalarOp::add:
      return each([](U u, U v) { return u + v; });
    case ScalarOp::sub:
      return each([](U u, U v) { return u - v; });
    case ScalarOp::mul:
      return each([](U u, U v) { return u * v; });
    case ScalarOp::maximum:
      return map(a, b, y, n, [](int64_t u, int64_t v) { return std::max(u, v); });
    case ScalarOp::minimum:
      return map(a, b, y, n, [](int64_t u, int64_t v) { return std::min(u, v); });
    case ScalarOp::logical_and:
    case ScalarOp::bit_and:
      return each([](U u, U v) { return u & v; });
    case ScalarOp::logical_or:
    case ScalarOp::bit_or:
      return each([](U u, U v) { return u | v; });
    case ScalarOp::bit_xor:
      return each([](U u, U v) { return u ^ v; });
    case ScalarOp::shift_left:
      return each([](U u, U v) { return v < 64 ? u << v : 0; });
    case ScalarOp::shift_right:
      return each([mask](U u, U v) { return v < 64 ? (u & mask) >> v : 0; });
    case ScalarOp::multiply_wide:
      return each([](U u, U v) { return (u & 0xFFFFFFFFu) * (v & 0xFFFFFFFFu); });
    default:
      GRAPHC_CHECK(false, "{} on integers", name_of(op));
  }
}

template <typename T>
void compare(ScalarOp op, const T* a, const T* b, int64_t* y, int64_t n) {
  if (op == ScalarOp::equal) return map(a, b, y, n, [](T u, T v) { return int64_t(u == v); });
  if (op == ScalarOp::less) return map(a, b, y, n, [](T u, T v) { return int64_t(u < v); });
  return map(a, b, y, n, [](T u, T v) { return int64_t(u <= v); });
}

template <typename T>
void choose(const int64_t* condition, const T* a, const T* b, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

bool is_comparison(ScalarOp op) {
  return op == ScalarOp::equal || op == ScalarOp::less || op == ScalarOp::less_equal;
}

void convert(const ScalarElements& a, DType to, std::byte* y, int64_t n) {
  auto* floats = reinterpret_cast<double*>(y);
  auto* integers = reinterpret_cast<int64_t*>(y);
  if (to == DType::boolean && a.floating())
    return map(a.floats(), integers, n, [](double v) { return int64_t(v != 0); });
  const bool floating = is_floating(to);
  if (a.floating() && floating) std::copy_n(a.floats(), n, floats);
  if (a.floating() && !floating) map(a.floats(), integers, n, truncated);
  if (!a.floating() && !floating) std::copy_n(a.integers(), n, integers);
  if (!a.floating() && floating) map(a.integers(), floats, n, [](int64_t v) { return double(v); });
}

/// The values of one instruction for the current block.
struct Register {
  ScalarElements elements;       ///< of this block: in `storage`, or in an operand
  std::byte* storage = nullptr;  ///< a block of elements, if not in an operand
};

class Run {
 public:
  Run(const ScalarCode& program, ArrayOperands operands, const Shape& shape, Precision precision)
      : program_(program),
        precision_(precision),
        registers_(program.code.size()),
        storage_(Type{DType::f64, {int64_t(program.code.size()), kBlock}}) {
    for (const Array& operand : operands) {
      direct_.push_back(operand.shape() == shape ? operand.bytes() : nullptr);
      views_.push_back(StridedView::broadcast(operand, shape));
    }
    for (size_t i = 0; i < registers_.size(); ++i) {
      registers_[i].storage = storage_.bytes() + int64_t(i) * kBlock * kElementBytes;
      registers_[i].elements = {program.code[i].dtype, registers_[i].storage};
      if (program.code[i].op == ScalarOp::constant) fill(program.code[i], registers_[i]);
    }
  }

  /// Computes elements start .. start + count - 1 of the whole result at `result`.
  void block(int64_t start, int64_t count, std::byte* result) {
    for (size_t i = 0; i < registers_.size(); ++i) {
      const ScalarInstruction& instruction = program_.code[i];
      if (instruction.op == ScalarOp::constant) continue;
      if (instruction.op == ScalarOp::argument) {
        load(instruction.a, start, count, registers_[i]);
      } else {
        execute(instruction, registers_[i], count);
      }
    }
    std::memcpy(result + start * kElementBytes, registers_[size_t(program_.result)].elements.values,
                size_t(count * kElementBytes));
  }

 private:
  void fill(const ScalarInstruction& instruction, const Register& y) const {
    if (y.elements.floating()) {
      auto* floats = reinterpret_cast<double*>(y.storage);
      std::fill_n(floats, kBlock, instruction.constant.as_double());
      round_floats(instruction.dtype, precision_, floats, kBlock);
    } else {
      auto* integers = reinterpret_cast<int64_t*>(y.storage);
      std::fill_n(integers, kBlock, instruction.constant.as_integer());
      wrap_integers(instruction.dtype, integers, kBlock);
    }
  }

  void load(int operand, int64_t start, int64_t count, Register& y) const {
    if (direct_[size_t(operand)] != nullptr) {
      y.elements.values = direct_[size_t(operand)] + start * kElementBytes;
    } else {
      views_[size_t(operand)].read(start, count, y.storage);
    }
  }

  void execute(const ScalarInstruction& instruction, const Register& y, int64_t n) const {
    const auto operand = [&](int index) -> const ScalarElements& {
      return registers_[size_t(std::max(index, 0))].elements;
    };
    run_scalar(instruction.op, instruction.dtype,
               {operand(instruction.a), operand(instruction.b), operand(instruction.c)}, n,
               precision_, y.storage);
  }

  const ScalarCode& program_;
  Precision precision_;
  std::vector<Register> registers_;
  Array storage_;
  std::vector<const std::byte*> direct_;
  std::vector<StridedView> views_;
};

}  // namespace

void run_scalar(ScalarOp op, DType dtype, const std::array<ScalarElements, 3>& x, int64_t n,
                Precision precision, std::byte* y) {
  const ScalarElements &a = x[0], &b = x[1], &c = x[2];
  auto* floats = reinterpret_cast<double*>(y);
  auto* integers = reinterpret_cast<int64_t*>(y);
  const bool floating = is_floating(dtype);
  if (is_comparison(op)) {
    if (a.floating()) return compare(op, a.floats(), b.floats(), integers, n);
    return compare(op, a.integers(), b.integers(), integers, n);
  }
  if (op == ScalarOp::select) {
    if (floating) return choose(a.integers(), b.floats(), c.floats(), floats, n);
    return choose(a.integers(), b.integers(), c.integers(), integers, n);
  }
  if (op == ScalarOp::cast) {
    convert(a, dtype, y, n);
  } else if (floating) {
    compute(op, a.floats(), b.floats(), floats, n);
  } else {
    const uint64_t mask = ~uint64_t{0} >> (64 - 8 * size_of(dtype));
    compute(op, a.integers(), b.integers(), integers, n, mask);
  }
  if (floating) {
    round_floats(dtype, precision, floats, n);
  } else {
    wrap_integers(dtype, integers, n);
  }
}

Array elementwise(const ScalarCode& program, ArrayOperands operands, const Type& type,
                  Precision precision) {
  const ScalarInstruction& last = program.code[size_t(program.result)];
  if (last.op == ScalarOp::argument && operands[size_t(last.a)].type() == type) {
    return operands[size_t(last.a)];
  }
  Array result(type);
  Run run(program, operands, type.shape, precision);
  const int64_t elements = result.elements();
  for (int64_t start = 0; start < elements; start += kBlock) {
    run.block(start, std::min(kBlock, elements - start), result.bytes());
  }
  return result;
}

}  // namespace graphc::core::evaluation

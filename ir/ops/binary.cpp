// SPDX-License-Identifier: Apache-2.0
// The records of elementwise ops with two or three operands, with NumPy broadcasting.
#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Operands = std::span<const Scalar>;
using Cotangents = std::span<const Value>;

template <ScalarOp op>
Scalar arithmetic(const Node&, Operands x) {
  return emit(op, x[0].dtype(), x[0], x[1]);
}
template <ScalarOp op>
Scalar comparison(const Node&, Operands x) {
  return emit(op, DType::boolean, x[0], x[1]);
}

std::vector<Type> infer_arithmetic(const Node& node) {
  const std::vector<Type> types = broadcast_operands(node);
  if (types[0].dtype == DType::boolean)
    throw input_error({}, "{}: takes numbers: found bool", node.op.name);
  return types;
}

std::vector<Type> broadcast_floating(const Node& node) {
  const std::vector<Type> types = broadcast_operands(node);
  expect_floating(node, 0);
  return types;
}

std::vector<Type> infer_logical(const Node& node) {
  const std::vector<Type> types = broadcast_operands(node);
  if (types[0].dtype != DType::boolean) {
    throw input_error({}, "{}: takes bool: found {}", node.op.name, to_string(type_of(node, 0)));
  }
  return types;
}

std::vector<Type> infer_select(const Node& node) {
  expect(node, 3);
  const Type &condition = type_of(node, 0), &a = type_of(node, 1), &b = type_of(node, 2);
  if (condition.dtype != DType::boolean) {
    throw input_error({}, "select: the condition is bool: found {}", to_string(condition));
  }
  if (a.dtype != b.dtype)
    throw input_error({}, "select: dtypes differ: {} and {}", to_string(a), to_string(b));
  const std::optional<Shape> values = broadcast(a.shape, b.shape);
  const std::optional<Shape> shape = values ? broadcast(*values, condition.shape) : std::nullopt;
  if (!shape) {
    throw input_error({}, "select: shapes do not broadcast: {}, {} and {}", to_string(condition),
                      to_string(a), to_string(b));
  }
  return {{a.dtype, *shape}};
}

Samples binary_samples() {
  return {{{{DType::f32, {2, 3}}, {DType::f32, {2, 3}}}, {}},
          {{{DType::f32, {4, 17}}, {DType::f32, {17}}}, {}},
          {{{DType::f32, {3, 1}}, {DType::f32, {3, 5}}}, {}},
          {{{DType::f32, {2, 3}}, {DType::f32, {}}}, {}}};
}

Samples logical_samples() { return {{{{DType::boolean, {2, 3}}, {DType::boolean, {3}}}, {}}}; }

std::vector<Type> infer_random(const Node& node) {
  expect(node, 2);
  const Type &key = type_of(node, 0), &index = type_of(node, 1);
  if (key.dtype != DType::i64 || index.dtype != DType::i64) {
    throw input_error({}, "{}: key and index are i64: found {} and {}", node.op.name,
                      to_string(key), to_string(index));
  }
  return {{node.is(ops::philox) ? DType::u32 : DType::i64, broadcast_operands(node)[0].shape}};
}

/// At x = 0 the usual rules multiply 0 by infinity: for x^0, which is 1 for every x, and for the
/// derivative of 0^p by p, which is 0 for every p above 0.
Values pow_vjp(const Node& node, Cotangents dy) {
  const Value x = node.operands[0], p = node.operands[1], none = equal(x, 0);
  const Value by_x = select(logical_and(none, equal(p, 0)), 0, p * pow(x, p - 1));
  const Value by_p = select(logical_and(none, greater_equal(p, 0)), 0, node.result() * log(x));
  return {dy[0] * by_x, dy[0] * by_p};
}

struct Words {
  Scalar word[4];
};

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten
/// rounds of two 32-bit multiplications. `counter` and `key` are i64; the upper half of the 128-bit
/// counter is zero. Words are the lower halves of i64; their upper halves are arbitrary. The
/// product of two lower halves has both words of a round and is one vector instruction.
Words philox_block(Scalar counter, Scalar key) {
  const auto bits = [](ScalarOp op, Scalar a, Scalar b) { return emit(op, DType::i64, a, b); };
  const auto low = [&](Scalar x) {
    return bits(ScalarOp::bit_and, x, constant(x, double(0xFFFFFFFFu)));
  };
  const auto high = [&](Scalar x) { return bits(ScalarOp::shift_right, x, constant(x, 32)); };
  const auto exclusive = [&](Scalar a, Scalar b, Scalar k) {
    return bits(ScalarOp::bit_xor, bits(ScalarOp::bit_xor, a, b), k);
  };
  const Scalar zero = constant(key, 0), m0 = constant(key, double(0xD2511F53u)),
               m1 = constant(key, double(0xCD9E8D57u));
  Scalar k0 = key, k1 = high(key);
  Words c{{counter, high(counter), zero, zero}};
  const int rounds = mutated(Mutant::philox_one_round_short) ? 9 : 10;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) {
      k0 = k0 + double(0x9E3779B9u);
      k1 = k1 + double(0xBB67AE85u);
    }
    const Scalar product0 = bits(ScalarOp::multiply_wide, c.word[0], m0);
    const Scalar product1 = bits(ScalarOp::multiply_wide, c.word[2], m1);
    c = {{exclusive(high(product1), c.word[1], k0), product1,
          exclusive(high(product0), c.word[3], k1), product0}};
  }
  for (Scalar& word : c.word) {
    word = low(word);
  }
  return c;
}

}  // namespace

constinit const Op ops::add{
    .name = "add",
    .doc = "The sum of two values.",
    .infer = infer_arithmetic,
    .scalar = arithmetic<ScalarOp::add>,
    .vjp = [](const Node&, Cotangents dy) -> Values { return {dy[0], dy[0]}; },
    .samples = binary_samples,
};

constinit const Op ops::sub{
    .name = "sub",
    .doc = "The difference of two values.",
    .infer = infer_arithmetic,
    .scalar = arithmetic<ScalarOp::sub>,
    .vjp = [](const Node&, Cotangents dy) -> Values { return {dy[0], -dy[0]}; },
    .samples = binary_samples,
};

constinit const Op ops::mul{
    .name = "mul",
    .doc = "The product of two values, element by element.",
    .infer = infer_arithmetic,
    .scalar = arithmetic<ScalarOp::mul>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0] * n.operands[1], dy[0] * n.operands[0]};
    },
    .samples = binary_samples,
};

constinit const Op ops::div{
    .name = "div",
    .doc = "The quotient of two floating-point values.",
    .infer = broadcast_floating,
    .scalar = arithmetic<ScalarOp::div>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value dx = dy[0] / n.operands[1];
      return {dx, -(dx * n.result())};
    },
    .samples = binary_samples,
};

constinit const Op ops::maximum{
    .name = "maximum",
    .doc =
        "The larger of two values; NaN if either is. At equality the derivative goes to the first: "
        "as a function with derivatives it is not commutative.",
    .infer = infer_arithmetic,
    .scalar = arithmetic<ScalarOp::maximum>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value first = graphc::core::greater_equal(n.operands[0], n.operands[1]);
      return {graphc::core::select(first, dy[0], 0), graphc::core::select(first, 0, dy[0])};
    },
    .samples = binary_samples,
};

constinit const Op ops::minimum{
    .name = "minimum",
    .doc =
        "The smaller of two values; NaN if either is. At equality the derivative goes to the "
        "first: as a function with derivatives it is not commutative.",
    .infer = infer_arithmetic,
    .scalar = arithmetic<ScalarOp::minimum>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value first = graphc::core::less_equal(n.operands[0], n.operands[1]);
      return {graphc::core::select(first, dy[0], 0), graphc::core::select(first, 0, dy[0])};
    },
    .samples = binary_samples,
};

constinit const Op ops::remainder{
    .name = "remainder",
    .doc =
        "a - floor(a / b) b, with the sign of b, of floating-point values: whole numbers are cast. "
        "The derivative of floor is taken as zero.",
    .infer = broadcast_floating,
    .scalar =
        [](const Node&, Operands x) {
          return x[0] - emit(ScalarOp::floor, x[0].dtype(), x[0] / x[1]) * x[1];
        },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0], -(dy[0] * graphc::core::floor(n.operands[0] / n.operands[1]))};
    },
    .samples = binary_samples,
};

constinit const Op ops::pow{
    .name = "pow",
    .doc =
        "The first value, which must be positive for a fractional power, to the power of the "
        "second.",
    .infer = broadcast_floating,
    .scalar = arithmetic<ScalarOp::pow>,
    .vjp = pow_vjp,
    .samples = binary_samples,
};

constinit const Op ops::equal{
    .name = "equal",
    .doc = "True where two values are equal.",
    .infer = compare_operands,
    .scalar = comparison<ScalarOp::equal>,
    .vjp = no_gradient,
    .samples = binary_samples,
};

constinit const Op ops::not_equal{
    .name = "not_equal",
    .doc = "True where two values differ.",
    .infer = compare_operands,
    .scalar =
        [](const Node&, Operands x) {
          return emit(ScalarOp::logical_not, DType::boolean,
                      emit(ScalarOp::equal, DType::boolean, x[0], x[1]));
        },
    .vjp = no_gradient,
    .samples = binary_samples,
};

constinit const Op ops::less{
    .name = "less",
    .doc = "True where the first value is below the second.",
    .infer = compare_operands,
    .scalar = comparison<ScalarOp::less>,
    .vjp = no_gradient,
    .samples = binary_samples,
};

constinit const Op ops::less_equal{
    .name = "less_equal",
    .doc = "True where the first value is not above the second.",
    .infer = compare_operands,
    .scalar = comparison<ScalarOp::less_equal>,
    .vjp = no_gradient,
    .samples = binary_samples,
};

constinit const Op ops::greater{
    .name = "greater",
    .doc = "True where the first value is above the second.",
    .infer = compare_operands,
    .scalar = [](const Node&,
                 Operands x) { return emit(ScalarOp::less, DType::boolean, x[1], x[0]); },
    .vjp = no_gradient,
    .samples = binary_samples,
};

constinit const Op ops::greater_equal{
    .name = "greater_equal",
    .doc = "True where the first value is not below the second.",
    .infer = compare_operands,
    .scalar = [](const Node&,
                 Operands x) { return emit(ScalarOp::less_equal, DType::boolean, x[1], x[0]); },
    .vjp = no_gradient,
    .samples = binary_samples,
};

constinit const Op ops::logical_and{
    .name = "logical_and",
    .doc = "True where both values (bool) are.",
    .infer = infer_logical,
    .scalar = comparison<ScalarOp::logical_and>,
    .vjp = no_gradient,
    .samples = logical_samples,
};

constinit const Op ops::logical_or{
    .name = "logical_or",
    .doc = "True where at least one value (bool) is.",
    .infer = infer_logical,
    .scalar = comparison<ScalarOp::logical_or>,
    .vjp = no_gradient,
    .samples = logical_samples,
};

constinit const Op ops::logical_xor{
    .name = "logical_xor",
    .doc = "True where exactly one value (bool) is.",
    .infer = infer_logical,
    .scalar =
        [](const Node&, Operands x) {
          return emit(ScalarOp::logical_not, DType::boolean,
                      emit(ScalarOp::equal, DType::boolean, x[0], x[1]));
        },
    .vjp = no_gradient,
    .samples = logical_samples,
};

constinit const Op ops::select{
    .name = "select",
    .doc =
        "Where the first value (bool) holds the element of the second, elsewhere that of the "
        "third; broadcasts.",
    .infer = infer_select,
    .scalar = [](const Node&, Operands x) { return graphc::core::select(x[0], x[1], x[2]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      Value first = graphc::core::select(n.operands[0], dy[0], 0),
            second = graphc::core::select(n.operands[0], 0, dy[0]);
      if (mutated(Mutant::select_branches_swapped)) std::swap(first, second);
      return {Value{}, first, second};
    },
    .samples =
        [] {
          return Samples{
              {{{DType::boolean, {2, 3}}, {DType::f32, {2, 3}}, {DType::f32, {2, 3}}}, {}},
              {{{DType::boolean, {4, 1}}, {DType::f32, {4, 17}}, {DType::f32, {}}}, {}}};
        },
};

constinit const Op ops::philox{
    .name = "philox",
    .doc =
        "32 random bits for each index (i64): word index mod 4 of Philox4x32-10 at counter index / "
        "4 under the "
        "key (i64). A pure function: equal keys and indices give equal bits.",
    .infer = infer_random,
    .scalar =
        [](const Node&, Operands x) {
          const Scalar block =
              emit(ScalarOp::shift_right, DType::i64, x[1], graphc::core::constant(x[1], 2));
          const Scalar lane =
              emit(ScalarOp::bit_and, DType::i64, x[1], graphc::core::constant(x[1], 3));
          const Words words = philox_block(block, x[0]);
          const auto is = [&](double n) {
            return emit(ScalarOp::equal, DType::boolean, lane, graphc::core::constant(lane, n));
          };
          const Scalar word = graphc::core::select(
              is(0), words.word[0],
              graphc::core::select(is(1), words.word[1],
                                   graphc::core::select(is(2), words.word[2], words.word[3])));
          return graphc::core::cast(word, DType::u32);
        },
    .vjp = no_gradient,
    .samples = [] { return Samples{{{{DType::i64, {}}, {DType::i64, {3, 17}}}, {}, 1000}}; },
};

constinit const Op ops::fold_in{
    .name = "fold_in",
    .doc =
        "A new key (i64) from a key and a number (both i64): the first two Philox words at that "
        "counter.",
    .infer = infer_random,
    .scalar =
        [](const Node&, Operands x) {
          const Words words = philox_block(x[1], x[0]);
          return emit(ScalarOp::bit_or, DType::i64, words.word[0],
                      emit(ScalarOp::shift_left, DType::i64, words.word[1],
                           graphc::core::constant(words.word[1], 32)));
        },
    .vjp = no_gradient,
    .samples = [] { return Samples{{{{DType::i64, {}}, {DType::i64, {}}}, {}, 1000}}; },
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The records of elementwise ops with one operand.
#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Operands = std::span<const Scalar>;
using Cotangents = std::span<const Value>;

std::vector<Type> infer_cast(const Node& node) {
  expect(node, 1, {"dtype"});
  if (node.attributes.find("dtype") == nullptr)
    throw input_error({}, "cast: attribute 'dtype' is missing");
  return {{node.attributes.get_dtype("dtype", DType::f32), type_of(node, 0).shape}};
}

template <ScalarOp op>
Scalar unary(const Node&, Operands x) {
  return emit(op, x[0].dtype(), x[0]);
}

}  // namespace

constinit const Op ops::neg{
    .name = "neg",
    .doc = "The negative of each element.",
    .infer = infer_number,
    .scalar = unary<ScalarOp::neg>,
    .vjp = [](const Node&, Cotangents dy) -> Values { return {-dy[0]}; },
    .samples = unary_samples,
};

constinit const Op ops::abs{
    .name = "abs",
    .doc = "The absolute value of each element. Its derivative at 0 is 0.",
    .infer = infer_number,
    .scalar = unary<ScalarOp::abs>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0] * graphc::core::sign(n.operands[0])};
    },
    .samples = unary_samples,
};

constinit const Op ops::exp{
    .name = "exp",
    .doc = "e to the power of each element.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::exp>,
    .vjp = [](const Node& n, Cotangents dy) -> Values { return {dy[0] * n.result()}; },
    .samples = unary_samples,
};

constinit const Op ops::log{
    .name = "log",
    .doc = "The natural logarithm of each element; -inf at 0 and NaN below.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::log>,
    .vjp = [](const Node& n, Cotangents dy) -> Values { return {dy[0] / n.operands[0]}; },
    .samples = unary_samples,
};

constinit const Op ops::sqrt{
    .name = "sqrt",
    .doc = "The square root of each element; NaN below 0.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::sqrt>,
    .vjp = [](const Node& n, Cotangents dy) -> Values { return {dy[0] * 0.5 / n.result()}; },
    .samples = unary_samples,
};

constinit const Op ops::rsqrt{
    .name = "rsqrt",
    .doc = "One over the square root of each element.",
    .infer = infer_floating,
    .scalar = [](const Node&,
                 Operands x) { return 1.0 / emit(ScalarOp::sqrt, x[0].dtype(), x[0]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value y = n.result();
      return {dy[0] * -0.5 * (y * y * y)};
    },
    .samples = unary_samples,
};

constinit const Op ops::tanh{
    .name = "tanh",
    .doc = "The hyperbolic tangent of each element.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::tanh>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value y = n.result();
      return {dy[0] * (1 - y * y)};
    },
    .samples = unary_samples,
};

constinit const Op ops::sigmoid{
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)) of each element.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::sigmoid>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value y = n.result();
      return {dy[0] * (y * (1 - y))};
    },
    .samples = unary_samples,
};

constinit const Op ops::sin{
    .name = "sin",
    .doc = "The sine of each element, in radians.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::sin>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0] * graphc::core::cos(n.operands[0])};
    },
    .samples = unary_samples,
};

constinit const Op ops::cos{
    .name = "cos",
    .doc = "The cosine of each element, in radians.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::cos>,
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {-(dy[0] * graphc::core::sin(n.operands[0]))};
    },
    .samples = unary_samples,
};

constinit const Op ops::floor{
    .name = "floor",
    .doc = "The largest integer not above each element. Its derivative is zero.",
    .infer = infer_floating,
    .scalar = unary<ScalarOp::floor>,
    .vjp = no_gradient,
    .samples = unary_samples,
};

constinit const Op ops::relu{
    .name = "relu",
    .doc =
        "0 where the element is at most 0, else the element: NaN of NaN. Its derivative at 0 is 0.",
    .infer = infer_number,
    .scalar =
        [](const Node&, Operands x) {
          const Scalar zero = graphc::core::constant(x[0], 0);
          return graphc::core::select(emit(ScalarOp::less_equal, DType::boolean, x[0], zero), zero,
                                      x[0]);
        },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      if (mutated(Mutant::relu_gradient_unmasked)) return {dy[0]};
      return {graphc::core::select(graphc::core::less_equal(n.operands[0], 0), 0, dy[0])};
    },
    .samples = unary_samples,
};

constinit const Op ops::square{
    .name = "square",
    .doc = "The element times itself.",
    .infer = infer_number,
    .scalar = [](const Node&, Operands x) { return x[0] * x[0]; },
    .vjp = [](const Node& n, Cotangents dy) -> Values { return {dy[0] * (2 * n.operands[0])}; },
    .samples = unary_samples,
};

constinit const Op ops::hard_sigmoid{
    .name = "hard_sigmoid",
    .doc =
        "0.2 x + 0.5 clipped to [0, 1], the sigmoid of Keras 2. Its derivative outside the slope "
        "is 0.",
    .infer = infer_floating,
    .scalar =
        [](const Node&, Operands x) {
          const Scalar line = 0.2 * x[0] + 0.5;
          const Scalar low =
              emit(ScalarOp::maximum, x[0].dtype(), line, graphc::core::constant(x[0], 0));
          return emit(ScalarOp::minimum, x[0].dtype(), low, graphc::core::constant(x[0], 1));
        },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value y = n.result();
      return {graphc::core::select(
          graphc::core::logical_and(graphc::core::greater(y, 0), graphc::core::less(y, 1)),
          dy[0] * 0.2, 0)};
    },
    .samples = unary_samples,
};

constinit const Op ops::logical_not{
    .name = "logical_not",
    .doc = "True where the element (bool) is false.",
    .infer = [](const Node& n) -> std::vector<Type> {
      expect(n, 1);
      if (type_of(n, 0).dtype != DType::boolean) {
        throw input_error({}, "logical_not: takes bool: found {}", to_string(type_of(n, 0)));
      }
      return {type_of(n, 0)};
    },
    .scalar = unary<ScalarOp::logical_not>,
    .vjp = no_gradient,
    .samples = [] { return Samples{{{{DType::boolean, {2, 3}}}, {}}}; },
};

constinit const Op ops::cast{
    .name = "cast",
    .doc =
        "Each element converted to {dtype}: floats to integers toward zero, integers modulo "
        "2^bits, bool as 0 and 1. A float goes to integers by way of i64: what i64 cannot hold is "
        "its least or greatest number, NaN is 0. So 1e10 is 1410065408 of i32, and inf is -1.",
    .infer = infer_cast,
    .scalar =
        [](const Node& n, Operands x) {
          return graphc::core::cast(x[0], n.types.empty()
                                              ? n.attributes.get_dtype("dtype", DType::f32)
                                              : n.types[0].dtype);
        },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const DType from = n.operands[0].dtype();
      return {is_floating(from) && is_floating(n.types[0].dtype) ? graphc::core::cast(dy[0], from)
                                                                 : Value{}};
    },
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}}, {{"dtype", DType::i32}}},
                         {{{DType::i32, {5}}}, {{"dtype", DType::f32}}, 100}};
        },
};

constinit const Op ops::watch{
    .name = "watch",
    .doc =
        "The operand itself, as a leaf: `grad` may ask for the derivative with respect to it. Only "
        "autodiff removes it.",
    .infer = same_as_operand,
    .scalar = [](const Node&, Operands x) { return x[0]; },
    .vjp = [](const Node&, Cotangents dy) -> Values { return {dy[0]}; },
    .samples = unary_samples,
};

constinit const Op ops::stop_gradient{
    .name = "stop_gradient",
    .doc = "The operand itself, whose derivative is taken as zero. Only autodiff removes it.",
    .infer = same_as_operand,
    .scalar = [](const Node&, Operands x) { return x[0]; },
    .vjp = [](const Node&, Cotangents dy) -> Values {
      return {mutated(Mutant::stop_gradient_ignored) ? dy[0] : Value{}};
    },
    .samples = unary_samples,
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The records of further unary elementwise ops: rounding, logarithms near 1, activations.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Operands = std::span<const Scalar>;
using Cotangents = std::span<const Value>;

std::vector<Type> infer_test(const Node& node) {
  return {{DType::boolean, infer_floating(node)[0].shape}};
}

Scalar unary(ScalarOp op, Scalar x) { return emit(op, x.dtype(), x); }
Scalar is_less(Scalar a, Scalar b) { return emit(ScalarOp::less, DType::boolean, a, b); }
Scalar is_equal(Scalar a, Scalar b) { return emit(ScalarOp::equal, DType::boolean, a, b); }

bool exceeds(Numeral a, Numeral b) {
  if (a.is_integer() && b.is_integer()) return a.as_integer() > b.as_integer();
  return a.as_double() > b.as_double();
}

std::vector<Type> infer_clip(const Node& node) {
  const std::vector<Type> types = infer_number(node, {"low", "high"});
  for (const auto& [name, limit] : node.attributes) {
    check_number(node, name, limit);
    check_held("clip: " + name, types[0].dtype, limit);
    const double number = Numeral::of(limit).as_double();
    if (number != number) throw input_error({}, "clip: {} is NaN: wanted a number", name);
  }
  const Attribute *low = node.attributes.find("low"), *high = node.attributes.find("high");
  if (low != nullptr && high != nullptr && exceeds(Numeral::of(*low), Numeral::of(*high))) {
    throw input_error({}, "clip: low is {} and high is {}: wanted low to be no more than high",
                      to_string(*low), to_string(*high));
  }
  return types;
}

Scalar softplus_of(Scalar x) {
  const Scalar positive = emit(ScalarOp::maximum, x.dtype(), x, constant(x, 0));
  const Scalar power = unary(ScalarOp::exp, -unary(ScalarOp::abs, x));
  return positive + unary(ScalarOp::log1p, power);
}

}  // namespace

constinit const Op ops::sign{
    .name = "sign",
    .doc = "-1, 0 or 1 as the element is below, at or above 0; NaN of NaN. Its derivative is zero.",
    .infer = [](const Node& n) { return infer_number(n, {}); },
    .scalar =
        [](const Node&, Operands x) {
          const Scalar zero = graphc::core::constant(x[0], 0);
          // Zero and NaN are neither above nor below, and neither is a denormal if denormals are
          // flushed: the product is 0 for it too.
          const Scalar rest = x[0] * zero;
          return graphc::core::select(
              is_less(zero, x[0]), graphc::core::constant(x[0], 1),
              graphc::core::select(is_less(x[0], zero), graphc::core::constant(x[0], -1), rest));
        },
    .vjp = no_gradient,
    .samples = unary_samples,
};

constinit const Op ops::ceil{
    .name = "ceil",
    .doc = "The smallest integer not below each element. Its derivative is zero.",
    .infer = infer_floating,
    .scalar = [](const Node&, Operands x) { return -unary(ScalarOp::floor, -x[0]); },
    .vjp = no_gradient,
    .samples = unary_samples,
};

constinit const Op ops::round{
    .name = "round",
    .doc = "The nearest integer to each element, the even one of two. Its derivative is zero.",
    .infer = infer_floating,
    .scalar =
        [](const Node&, Operands x) {
          const Scalar low = unary(ScalarOp::floor, x[0]), over = x[0] - low;
          const Scalar half = graphc::core::constant(x[0], 0.5);
          const Scalar even = is_equal(unary(ScalarOp::floor, low * 0.5) * 2, low);
          const Scalar down =
              emit(ScalarOp::logical_or, DType::boolean, is_less(over, half),
                   emit(ScalarOp::logical_and, DType::boolean, is_equal(over, half), even));
          // A number without a fraction, infinity and NaN included, is returned unchanged.
          return graphc::core::select(is_equal(low, x[0]), x[0],
                                      graphc::core::select(down, low, low + 1));
        },
    .vjp = no_gradient,
    .samples = unary_samples,
};

constinit const Op ops::reciprocal{
    .name = "reciprocal",
    .doc = "1 divided by each element.",
    .infer = infer_floating,
    .scalar = [](const Node&, Operands x) { return 1 / x[0]; },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {-(dy[0] * graphc::core::square(n.result()))};
    },
    .samples = unary_samples,
};

constinit const Op ops::tan{
    .name = "tan",
    .doc = "The tangent of each element, in radians.",
    .infer = infer_floating,
    .scalar = [](const Node&,
                 Operands x) { return unary(ScalarOp::sin, x[0]) / unary(ScalarOp::cos, x[0]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0] * (1 + graphc::core::square(n.result()))};
    },
    .samples = unary_samples,
};

constinit const Op ops::log1p{
    .name = "log1p",
    .doc = "log(1 + x) of each element, accurate near 0; -inf at -1 and NaN below.",
    .infer = infer_floating,
    .scalar = [](const Node&, Operands x) { return unary(ScalarOp::log1p, x[0]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values { return {dy[0] / (1 + n.operands[0])}; },
    .samples = unary_samples,
};

constinit const Op ops::expm1{
    .name = "expm1",
    .doc = "exp(x) - 1 of each element, accurate near 0.",
    .infer = infer_floating,
    .scalar = [](const Node&, Operands x) { return unary(ScalarOp::expm1, x[0]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values { return {dy[0] * (n.result() + 1)}; },
    .samples = unary_samples,
};

constinit const Op ops::softplus{
    .name = "softplus",
    .doc = "log(1 + exp(x)) of each element, without overflow.",
    .infer = infer_floating,
    .scalar = [](const Node&, Operands x) { return softplus_of(x[0]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {dy[0] * graphc::core::sigmoid(n.operands[0])};
    },
    .samples = unary_samples,
};

constinit const Op ops::silu{
    .name = "silu",
    .doc = "x sigmoid(x) of each element, also called swish.",
    .infer = infer_floating,
    .scalar = [](const Node&, Operands x) { return x[0] * unary(ScalarOp::sigmoid, x[0]); },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      const Value s = graphc::core::sigmoid(n.operands[0]);
      return {dy[0] * (s * (1 + n.operands[0] * (1 - s)))};
    },
    .samples = unary_samples,
};

constinit const Op ops::gelu{
    .name = "gelu",
    .doc =
        "x Phi(x) of each element, Phi the normal distribution, by Hendrycks and Gimpel's formula "
        "with tanh (2016).",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %cubic = add(%x, mul(0.044715, mul(%x, square(%x))))
      return mul(mul(0.5, %x), add(1., tanh(mul(0.7978845608028654, %cubic))))
    })",
    .samples = unary_samples,
};

constinit const Op ops::clip{
    .name = "clip",
    .doc =
        "Each element, but {low} where it is below and {high} where it is above; either may be "
        "left out, the type must have both, and {low} is no more than {high}. Its derivative there "
        "is 0.",
    .infer = infer_clip,
    .scalar =
        [](const Node& n, Operands x) {
          Scalar y = x[0];
          const auto bound = [&](const char* name, ScalarOp op) {
            if (n.attributes.find(name) == nullptr) return;
            const Numeral number = Numeral::of(*n.attributes.find(name));
            y = emit(op, y.dtype(), y, graphc::core::constant(y, number));
          };
          bound("low", ScalarOp::maximum);
          bound("high", ScalarOp::minimum);
          return y;
        },
    .vjp = [](const Node& n, Cotangents dy) -> Values {
      return {graphc::core::select(graphc::core::equal(n.result(), n.operands[0]), dy[0], 0)};
    },
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 13}}}, {{"low", 0.25}, {"high", 0.75}}},
                         {{{DType::f32, {3, 7}}}, {{"high", 0.5}}}};
        },
};

constinit const Op ops::is_nan{
    .name = "is_nan",
    .doc = "True where the element is NaN.",
    .infer = infer_test,
    .scalar =
        [](const Node&, Operands x) {
          return emit(ScalarOp::logical_not, DType::boolean, is_equal(x[0], x[0]));
        },
    .vjp = no_gradient,
    .samples = unary_samples,
};

constinit const Op ops::is_finite{
    .name = "is_finite",
    .doc = "True where the element is neither NaN nor infinite.",
    .infer = infer_test,
    .scalar = [](const Node&,
                 Operands x) { return is_equal(x[0] - x[0], graphc::core::constant(x[0], 0)); },
    .vjp = no_gradient,
    .samples = unary_samples,
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The records of composites, defined by a body in our own text (see ir/composite.h for `$`).
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/mutant.h"
#include "ir/ops/infer.h"

namespace graphc::core {
namespace {

using Cotangents = std::span<const Value>;
using Ints = std::vector<int64_t>;

/// The body compares labels for equality, which would also accept floats.
template <size_t labels>
std::vector<Type> infer_labelled(const Node& node) {
  if (labels < node.operands.size() && !is_integer(type_of(node, labels).dtype)) {
    throw input_error({}, "{}: labels are integers: found {}", node.op.name,
                      to_string(type_of(node, labels)));
  }
  return infer_by_body(node);
}

/// Labels [...] of logits [..., v].
std::vector<Type> infer_labelled_rows(const Node& node) {
  if (node.operands.size() == 2 && type_of(node, 0).shape.rank() > 0) {
    const Shape& logits = type_of(node, 0).shape;
    const Shape rows = logits.without(logits.rank() - 1);
    if (type_of(node, 1).shape != rows) {
      throw input_error({}, "{}: labels of logits {} are [{}]: found {}", node.op.name,
                        to_string(type_of(node, 0)), to_string(rows), to_string(type_of(node, 1)));
    }
  }
  return infer_labelled<1>(node);
}

/// More columns than an i32 can count would wrap around.
std::vector<Type> infer_one_hot(const Node& node) {
  constexpr int64_t most = int64_t{1} << 31;
  const int64_t depth = node.attributes.get_int("depth", 0);
  const bool narrow = !node.operands.empty() && type_of(node, 0).dtype != DType::i64 &&
                      type_of(node, 0).dtype != DType::u32;
  if (narrow && depth > most) {
    throw input_error({}, "one_hot: labels {} have at most {} columns: found {{depth = {}}}",
                      to_string(type_of(node, 0)), most, depth);
  }
  return infer_labelled<0>(node);
}

/// keep = 0 would divide by 0.
std::vector<Type> infer_dropout(const Node& node) {
  const double keep = node.attributes.get_float("keep", 1);
  if (!(keep > 0 && keep <= 1))
    throw input_error({}, "dropout: {{keep}} is in (0, 1]: found {}", keep);
  expect_key(node, 1);
  return infer_by_body(node);
}

/// d/dlogits of the cross entropy is softmax(logits) - one_hot(labels), times the cotangent of each
/// row: written with one division per row instead of one per element.
Values cross_entropy_vjp(const Node& node, Cotangents dy) {
  const Value logits = node.operands[0], labels = node.operands[1];
  const Value row = reshape(dy[0], logits.shape().with(-1, 1));
  const int64_t classes = logits.shape()[-1];
  const Value checked = apply1(ops::check_labels, {labels}, {{"classes", classes}});
  const Value hot = apply1(ops::one_hot, {checked}, {{"depth", classes}});
  const Ints last{logits.shape().rank() - 1};
  const Value e =
      exp(mutated(Mutant::softmax_without_max) ? logits : logits - max(logits, last, true));
  const Value total = sum(e, last, true);
  const Value scale = mutated(Mutant::dlogits_without_scale) ? row * 0 + 1 : row;
  return {e * (scale / total) - select(hot, scale, 0), Value{}};
}

Values softmax_vjp(const Node& node, Cotangents dy) {
  const Value y = node.result();
  const Ints last{y.shape().rank() - 1};
  return {y * (dy[0] - sum(dy[0] * y, last, true))};
}

Values log_softmax_vjp(const Node& node, Cotangents dy) {
  const Value y = node.result();
  const Ints last{y.shape().rank() - 1};
  return {dy[0] - exp(y) * sum(dy[0], last, true)};
}

/// With y the result and r the inverse deviation of each row: r (dy - mean(dy) - y mean(dy y)). r
/// is computed with the body's own nodes, so it is shared with the forward pass; differentiating
/// through the body's variance would save two values of all columns instead of one (Ba et al.,
/// Layer Normalization, 2016).
Values layer_norm_vjp(const Node& node, Cotangents dy) {
  const Value x = node.operands[0], y = node.result();
  const Ints last{y.shape().rank() - 1};
  const Value variance = mean(square(x - mean(x, last, true)), last, true);
  const Value inverse = rsqrt(variance + node.attributes.get_float("epsilon", 1e-5));
  return {inverse * (dy[0] - mean(dy[0], last, true) - y * mean(dy[0] * y, last, true))};
}

Samples row_samples() { return {{{{DType::f32, {2, 3}}}, {}}, {{{DType::f32, {3, 4, 19}}}, {}}}; }

}  // namespace

constinit const Op ops::mean{
    .name = "mean",
    .doc = "The mean over {axes}; with {keep} they stay with extent 1.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      return div(sum(%x) {axes = $axes, keep = $keep:false}, size(%x) {axes = $axes})
    })",
    .samples =
        [] {
          return Samples{{{{DType::f32, {2, 3}}}, {{"axes", Ints{1}}}},
                         {{{DType::f32, {2, 3}}}, {{"axes", Ints{0, 1}}}}};
        },
};

constinit const Op ops::mse{
    .name = "mse",
    .doc =
        "The mean of the squared differences of all elements of two values of one shape: a scalar.",
    .infer = infer_of_one_shape,
    .body = R"(graph (%x, %y) {
      return mean(square(sub(%x, %y))) {axes = $x.axes}
    })",
    .samples = [] { return Samples{{{{DType::f32, {2, 3}}, {DType::f32, {2, 3}}}, {}}}; },
};

constinit const Op ops::softmax{
    .name = "softmax",
    .doc = "exp(x) / sum(exp(x)) over the last axis, computed so that no exponential overflows.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %e = exp(sub(%x, max(%x) {axes = [$x.last], keep = true}))
      return div(%e, sum(%e) {axes = [$x.last], keep = true})
    })",
    .vjp = softmax_vjp,
    .samples = row_samples,
};

constinit const Op ops::log_softmax{
    .name = "log_softmax",
    .doc = "The logarithm of softmax over the last axis.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %s = sub(%x, max(%x) {axes = [$x.last], keep = true})
      return sub(%s, log(sum(exp(%s)) {axes = [$x.last], keep = true}))
    })",
    .vjp = log_softmax_vjp,
    .samples = row_samples,
};

constinit const Op ops::one_hot{
    .name = "one_hot",
    .doc =
        "For integer labels [...] a bool [..., {depth}], true at the label and nowhere for a label "
        "outside.",
    .infer = infer_one_hot,
    .body = R"(graph (%labels) {
      %index = cast %labels {dtype = $labels.index}
      return equal(reshape(%index) {shape = [$labels.column]},
                   iota {shape = [$depth], axis = 0, dtype = $labels.index})
    })",
    .samples = [] { return Samples{{{{DType::i32, {2, 3}}}, {{"depth", int64_t{5}}}, 5}}; },
};

constinit const Op ops::cross_entropy{
    .name = "cross_entropy",
    .doc =
        "For logits [..., v] and integer labels [...]: log(sum(exp(logits))) - logits[label], in "
        "nats. A label that is none of the v classes is an error that names it and its row.",
    .infer = infer_labelled_rows,
    .body = R"(graph (%logits, %labels) {
      %s = sub(%logits, max(%logits) {axes = [$logits.last], keep = true})
      %hot = one_hot(check_labels(%labels) {classes = $logits.width}) {depth = $logits.width}
      %at = sum(select(%hot, %s, 0.)) {axes = [$logits.last]}
      return sub(log(sum(exp(%s)) {axes = [$logits.last]}), %at)
    })",
    .vjp = cross_entropy_vjp,
    .samples =
        [] {
          return Samples{{{{DType::f32, {4, 7}}, {DType::i32, {4}}}, {}, 7},
                         {{{DType::f32, {2, 3, 35}}, {DType::i32, {2, 3}}}, {}, 35}};
        },
};

constinit const Op ops::uniform{
    .name = "uniform",
    .doc =
        "f32 of {shape}, uniform in [0, 1): the upper 24 bits of philox at the row-major index, "
        "under a key (i64[]).",
    .infer = infer_draw,
    .body = R"(graph (%key) {
      %bits = philox(%key, iota {shape = $shape, dtype = i64})
      %low = cast(cast(%bits) {dtype = u8}) {dtype = u32}
      return mul(cast(sub(%bits, %low)) {dtype = f32}, 2.3283064365386963e-10)
    })",
    .samples = [] { return Samples{{{{DType::i64, {}}}, {{"shape", Ints{3, 17}}}, 1000}}; },
};

constinit const Op ops::normal{
    .name = "normal",
    .doc =
        "f32 of {shape}, standard normal by Box and Muller's transform of words 2i and 2i + 1, "
        "under a key (i64[]).",
    .infer = infer_draw,
    .body = R"(graph (%key) {
      %i = mul(iota {shape = $shape, dtype = i64}, 2)
      %u = mul(add(cast(philox(%key, %i)) {dtype = f32}, 1.), 2.3283063708707e-10)
      %v = mul(cast(philox(%key, add(%i, 1))) {dtype = f32}, 2.3283064365386963e-10)
      return mul(sqrt(mul(log(%u), -2.)), cos(mul(%v, 6.283185307179586)))
    })",
    .samples = [] { return Samples{{{{DType::i64, {}}}, {{"shape", Ints{3, 17}}}, 1000}}; },
};

constinit const Op ops::dropout{
    .name = "dropout",
    .doc =
        "Each element of the first value kept with probability {keep}, in (0, 1], and divided by "
        "it, else 0; the mask is drawn by `uniform` under the key (i64[]), so it is recomputed and "
        "never saved.",
    .infer = infer_dropout,
    .body = R"(graph (%x, %key) {
      return select(less(uniform(%key) {shape = $x.shape}, $keep), mul(%x, div(1., $keep)), 0.)
    })",
    .samples =
        [] { return Samples{{{{DType::f32, {4, 6}}, {DType::i64, {}}}, {{"keep", 0.5}}, 1000}}; },
};

constinit const Op ops::layer_norm{
    .name = "layer_norm",
    .doc = "(x - mean) / sqrt(variance + {epsilon}) over the last axis, without gain and bias.",
    .infer = infer_by_body,
    .body = R"(graph (%x) {
      %d = sub(%x, mean(%x) {axes = [$x.last], keep = true})
      %variance = mean(square(%d)) {axes = [$x.last], keep = true}
      return mul(%d, rsqrt(add(%variance, $epsilon:1e-05)))
    })",
    .vjp = layer_norm_vjp,
    .samples = row_samples,
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// The records of losses other than cross_entropy and mse, and of draws from distributions.
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/ops/infer.h"

namespace graphc::core {
constinit const Op ops::cross_entropy_with_probabilities{
    .name = "cross_entropy_with_probabilities",
    .doc =
        "For logits and target probabilities, both [..., v]: -sum(probabilities * "
        "log_softmax(logits)) over the last axis, in nats.",
    .infer = infer_of_one_shape,
    .body = R"(graph (%logits, %probabilities) {
      return neg(sum(mul(%probabilities, log_softmax(%logits))) {axes = [$logits.last]})
    })",
    .samples =
        [] {
          return Samples{{{{DType::f32, {4, 7}}, {DType::f32, {4, 7}}}, {}},
                         {{{DType::f32, {2, 3, 35}}, {DType::f32, {2, 3, 35}}}, {}}};
        },
};

constinit const Op ops::sigmoid_cross_entropy{
    .name = "sigmoid_cross_entropy",
    .doc =
        "For logits x and target probabilities z of one shape, element by element: "
        "-z log(sigmoid(x)) - (1 - z) log(1 - sigmoid(x)), in nats, without overflow.",
    .infer = infer_of_one_shape,
    .body = R"(graph (%logits, %probabilities) {
      return sub(softplus(%logits), mul(%logits, %probabilities))
    })",
    .samples = [] { return Samples{{{{DType::f32, {3, 17}}, {DType::f32, {3, 17}}}, {}}}; },
};

constinit const Op ops::bernoulli{
    .name = "bernoulli",
    .doc = "True with the probability of each element, drawn by `uniform` under the key (i64[]).",
    .infer = infer_draw,
    .body = R"(graph (%key, %probability) {
      return less(uniform(%key) {shape = $probability.shape}, %probability)
    })",
    .samples = [] { return Samples{{{{DType::i64, {}}, {DType::f32, {3, 17}}}, {}, 1000}}; },
};

constinit const Op ops::categorical{
    .name = "categorical",
    .doc =
        "An index (i32) for each row of logits [..., v], with the probability softmax gives it, "
        "drawn under the key (i64[]) as the largest of the logits plus Gumbel noise.",
    .infer = infer_draw,
    .body = R"(graph (%key, %logits) {
      %noise = neg(log(neg(log(uniform(%key) {shape = $logits.shape}))))
      return argmax(add(%logits, %noise)) {axis = $logits.last}
    })",
    .samples = [] { return Samples{{{{DType::i64, {}}, {DType::f32, {5, 7}}}, {}, 1000}}; },
};

}  // namespace graphc::core

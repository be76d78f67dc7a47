// SPDX-License-Identifier: Apache-2.0
// Every layer: its gradients against central differences, for inputs and parameters, and compiled
// for the CPU against the reference; and initialisers by the moments of what they draw.
// clang-format off: before the frontend, whose f32 it would shadow by Precision::f32.
#include "tests/passes/values.h"
// clang-format on

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "passes/pipeline.h"
#include "tests/testing/counts.h"
#include "tests/testing/wide_golden.h"

namespace graphc::core {
namespace {

constexpr int64_t kSteps = 4, kSequences = 3, kFeatures = 4, kUnits = 5, kHeadUnits = 6;

/// A model with one graph, `f`: a layer on x [steps, batch, input], or on integers `words`.
struct LayerCase {
  const char* name;
  std::function<Value(Model& m, Inputs& in)> apply;
};

Value sequence(Inputs& in) { return in("x", f32, {kSteps, kSequences, kFeatures}); }

/// Layers are declared when the graph is traced for the first time, and live as long as the model.
template <typename Layer, typename... Arguments>
LayerCase on_sequences(const char* name, Arguments... arguments) {
  return {name, [=](Model& m, Inputs& in) {
            const Layer layer(m, "layer", arguments...);
            return layer(sequence(in));
          }};
}

std::vector<LayerCase> layer_cases() {
  return {
      on_sequences<Linear>("linear", kFeatures, kUnits, glorot_uniform(), normal(1)),
      on_sequences<Lstm>("lstm", kFeatures, kUnits),
      on_sequences<Gru>("gru", kFeatures, kUnits),
      on_sequences<Rnn>("rnn", kFeatures, kUnits),
      on_sequences<GatedDelta>("gated_delta", kFeatures, kHeadUnits, HeadOptions{.heads = 2}),
      on_sequences<Mlstm>("mlstm", kFeatures, kHeadUnits, HeadOptions{.heads = 2}),
      on_sequences<Slstm>("slstm", kFeatures, kHeadUnits, HeadOptions{.heads = 2}),
      on_sequences<SelectiveScan>("selective_scan", kFeatures, kUnits,
                                  SelectiveScanOptions{.state = 3}),
      on_sequences<Rwkv7>("rwkv7", kFeatures, 8, HeadOptions{.heads = 2}),
      on_sequences<RgLru>("rg_lru", kFeatures, kUnits),
      on_sequences<MinGru>("min_gru", kFeatures, kUnits),
      on_sequences<Bidirectional<GatedDelta>>("bidirectional_gated_delta", kFeatures, 3),
      on_sequences<Bidirectional<Lstm>>("bidirectional_lstm", kFeatures, kUnits),
      on_sequences<Bidirectional<Gru>>("bidirectional_gru", kFeatures, kUnits),
      on_sequences<Bidirectional<Rnn>>("bidirectional_rnn", kFeatures, kUnits),
      on_sequences<Stacked<Lstm>>("stacked_lstm", 2, kFeatures, kUnits, DropoutShare{}),
      on_sequences<Stacked<Gru>>("stacked_gru_with_dropout", 2, kFeatures, kUnits,
                                 DropoutShare{.keep = 0.7}),
      on_sequences<Stacked<Bidirectional<Rnn>>>("stacked_bidirectional", 2, kFeatures, kUnits,
                                                DropoutShare{.keep = 0.7}),
      {"layer_norm",
       [](Model& m, Inputs& in) { return LayerNorm(m, "layer", kFeatures)(sequence(in)); }},
      {"dropout",
       [](Model& m, Inputs& in) {
         // With a parameter, so that there is a derivative by one too.
         return Dropout({.keep = 0.6})(sequence(in) * m.param("scale", {kFeatures}, normal(1)));
       }},
      {"embedding",
       [](Model& m, Inputs& in) {
         return Embedding(m, "layer", 7, kUnits)(in("words", i32, {kSteps, kSequences}));
       }},
  };
}

GraphPtr traced(const LayerCase& c) {
  Model m("m");
  m.graph("f", Mode::training, [&](Inputs& in) { return c.apply(m, in); });
  return m.trace("f", Extents{}).graph;
}

std::string name_of_case(const ::testing::TestParamInfo<LayerCase>& info) {
  return info.param.name;
}

class LayerGradients : public ::testing::TestWithParam<LayerCase> {};

TEST_P(LayerGradients, AgreeWithCentralDifferences) {
  const GraphPtr graph = traced(GetParam());
  EXPECT_GT(testing::expect_gradients(graph, "autodiff", 5, {-1, 1, 7}), 1e-3);
  for (const char* variant : {"fused", "basic"}) {
    const std::string passes = to_text(standard_pipeline(variant));
    EXPECT_GT(testing::expect_gradients(graph, passes, 6, {-1, 1, 7}), 1e-3);
  }
  testing::count("gradients of layers", 6);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerGradients, ::testing::ValuesIn(layer_cases()), name_of_case);

class LayersCpu : public ::testing::TestWithParam<LayerCase> {};

/// Output and gradients by all parameters, after one call of a session with the seed 3.
Outputs run(const LayerCase& c, const SessionOptions& options, const Tensor& x, int64_t& results) {
  Model m("m");
  m.graph("f", Mode::training, [&](Inputs& in) {
    const Value y = c.apply(m, in);
    const Value weights = cos(iota(*y.node->graph, y.shape(), 2, DType::f32) * 0.7 + 0.3);
    Values values{y};
    for (Value d : gradients(sum(y * y * weights), m.params())) values.push_back(d);
    results = int64_t(values.size());
    return Results(values);
  });
  Session session(m, options);
  return session("f", x);
}

TEST_P(LayersCpu, AgreeWithTheReference) {
  const bool words = std::string(GetParam().name) == "embedding";
  const Tensor x = words ? random_integers({kSteps, kSequences}, 7, 2)
                         : random_uniform({kSteps, kSequences, kFeatures}, 2);
  SessionOptions exact{.target = "reference"}, compiled{.target = "cpu"};
  exact.seed = compiled.seed = 3;
  int64_t results = 0;
  const Outputs wanted = run(GetParam(), exact, x, results);
  const Outputs found = run(GetParam(), compiled, x, results);
  ASSERT_GE(results, 2);
  for (int64_t i = 0; i < results; ++i) {
    const Literal a = found[size_t(i)].literal(), b = wanted[size_t(i)].literal();
    ASSERT_EQ(a.shape(), b.shape());
    double largest = 0;
    for (int64_t k = 0; k < b.elements(); ++k) largest = std::max(largest, std::abs(b.element(k)));
    EXPECT_GT(largest, 0) << "result " << i;
    for (int64_t k = 0; k < b.elements(); ++k)
      ASSERT_NEAR(a.element(k), b.element(k), 5e-6 * std::max(1.0, largest)) << i << " " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayersCpu, ::testing::ValuesIn(layer_cases()), name_of_case);

TEST(Bidirectional, IsPyTorchs) {
  const testing::WideCase c{"bidirectional", 7, 3, 5};
  const auto arrays = testing::golden_arrays("wide_bidirectional");
  const std::vector<Literal> inputs = testing::wide_inputs(c);  // x h0 w u b c0 h0_r c0_r w_r ... r
  Model m("m");
  const Bidirectional<Lstm> layer(m, "l", 3, 5);
  m.graph("f", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {7, 3, 3}), r = in("r", f32, {7, 3, 10});
    State h = in.state("h", {3, 5}), cell = in.state("c", {3, 5});
    State h_r = in.state("h_r", {3, 5}), cell_r = in.state("c_r", {3, 5});
    const Value y = concat(
        {layer.forward.run(x, h, cell), layer.backward.run(x, h_r, cell_r, {.reverse = true})}, 2);
    Values results{y};
    for (Value d : gradients(sum(y * r), m.params())) results.push_back(d);
    return Results(results);
  });
  SessionOptions options{.target = "reference"};
  options.compile.precision = Precision::f64;
  Session session(m, options);
  session.compile("f", {inputs[0].type(), inputs.back().type()});
  const char* states[] = {"h",   "l.forward.w", "l.forward.u",  "l.forward.b",  "c",
                          "h_r", "c_r",         "l.backward.w", "l.backward.u", "l.backward.b"};
  for (size_t i = 0; i < 10; ++i) session.set_state(states[i], inputs[i + 1].converted(DType::f64));
  const Outputs outputs =
      session("f", inputs[0].converted(DType::f64), inputs.back().converted(DType::f64));
  const char* names[] = {"y", "grad.w", "grad.u", "grad.b", "grad.w_r", "grad.u_r", "grad.b_r"};
  for (size_t i = 0; i < 7; ++i) {
    const Literal found = outputs[i].literal();
    const Literal& wanted = arrays.at(std::string("7.3.5.") + names[i]);
    ASSERT_EQ(found.shape(), wanted.shape()) << names[i];
    for (int64_t k = 0; k < wanted.elements(); ++k)
      ASSERT_NEAR(found.element(k), wanted.element(k), 1e-10) << names[i] << " " << k;
  }
}

/// Mean, variance, and fourth moment over the variance squared.
struct Moments {
  double mean = 0, variance = 0, kurtosis = 0;
};
Moments moments_of(const Initializer& initializer, const Shape& shape) {
  const Literal drawn = initial_value(initializer, {DType::f32, shape}, 17, {});
  Moments m;
  const double n = double(drawn.elements());
  for (int64_t i = 0; i < drawn.elements(); ++i) m.mean += drawn.element(i) / n;
  for (int64_t i = 0; i < drawn.elements(); ++i) {
    const double d = drawn.element(i) - m.mean;
    m.variance += d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  m.kurtosis /= m.variance * m.variance;
  return m;
}

TEST(Initializers, HaveTheMomentsOfTheirDistributions) {
  // Of 40,000 draws: the mean is off by a 200th of the deviation, the variance by about a 150th.
  const Shape shape{100, 400};
  const auto expect = [&](const Initializer& initializer, double variance, double kurtosis) {
    const Moments m = moments_of(initializer, shape);
    EXPECT_NEAR(m.mean, 0, 0.025 * std::sqrt(variance));
    EXPECT_NEAR(m.variance, variance, 0.03 * variance);
    EXPECT_NEAR(m.kurtosis, kurtosis, 0.04 * kurtosis);
  };
  expect(uniform(0.3), 0.09 / 3, 1.8);
  expect(normal(1.5), 2.25, 3);
  expect(glorot_uniform(), 6.0 / 500 / 3, 1.8);
  // Of orthonormal rows of 400 every element has variance 1 / 400, and is nearly normal.
  expect(orthogonal(2), 4.0 / 400, 3);
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Layers against PyTorch's, and against their equations on numbers.
#include "frontend/layers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "passes/pipeline.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/source_tree.h"

namespace graphc::core {
namespace {

constexpr int64_t kInputs = 4, kHidden = 5, kBatch = 3;

Safetensors golden(const std::string& name) {
  return read_safetensors(testing::source_path("tests/golden/" + name + ".safetensors"));
}

SessionOptions f64_reference() {
  SessionOptions options{.target = "reference"};
  options.compile.precision = Precision::f64;
  return options;
}

void expect_golden_values(const Literal& found, const Literal& wanted) {
  ASSERT_EQ(found.shape(), wanted.shape());
  for (int64_t i = 0; i < wanted.elements(); ++i)
    ASSERT_NEAR(found.element(i), wanted.element(i), 1e-12) << "element " << i;
}

/// Runs a layer as the golden file did, and compares outputs and the gradients of its parameters.
template <typename Layer, typename Run>
void expect_golden(const std::string& name, const Run& run_layer) {
  const Safetensors file = golden(name);
  Model m("m");
  const Layer layer(m, "layer", kInputs, kHidden);
  m.graph("f", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {"steps", kBatch, kInputs});
    Value r = in("r", f32, {"steps", kBatch, kHidden});
    State h = in.state("h0", {kBatch, kHidden}), c = in.state("c0", {kBatch, kHidden});
    Value y = run_layer(layer, x, h, c);
    Values results{y, h};
    for (Value d : gradients(sum(y * r), m.params())) results.push_back(d);
    return Results(results);
  });
  Session session(m, f64_reference());
  session.compile("f", {file.arrays.at("x").type(), file.arrays.at("r").type()});
  for (const auto& [array, value] : file.arrays) {
    if (array == "h0" || (array == "c0" && name == "lstm")) session.set_state(array, value);
  }
  for (const Param& param : m.params())
    session.set_state(param.name(), file.arrays.at(param.name().substr(6)));
  const Outputs outputs = session("f", file.arrays.at("x"), file.arrays.at("r"));
  expect_golden_values(outputs[0].literal(), file.arrays.at("y"));
  expect_golden_values(outputs[1].literal(), file.arrays.at("h_end"));
  size_t result = 2;
  for (const Param& param : m.params()) {
    SCOPED_TRACE(param.name());
    expect_golden_values(outputs[result++].literal(),
                         file.arrays.at("grad." + param.name().substr(6)));
  }
}

/// Expects that the pass outline finds the composite `name`, once, in what the layer writes.
template <typename Layer, typename Run>
void expect_outlined(std::string_view name, const Run& run_layer) {
  Model m("m");
  const Layer layer(m, "layer", kInputs, kHidden);
  m.graph("f", [&](Inputs& in) {
    Value x = in("x", f32, {"steps", kBatch, kInputs});
    State h = in.state("h0", {kBatch, kHidden}), c = in.state("c0", {kBatch, kHidden});
    return sum(run_layer(layer, x, h, c));
  });
  const Pipeline passes = parse_pipeline(
      "simplify,cse,pack-matmuls,simplify,cse,hoist,simplify,cse,outline{lstm,gru,rnn}");
  const GraphPtr graph = run_pipeline(m.trace("f", {{"steps", 6}}).graph, passes).graph;
  int found = 0;
  for (const Node& node : graph->nodes()) {
    found += node.op.name == name ? 1 : 0;
    EXPECT_FALSE(node.is(ops::scan));
  }
  EXPECT_EQ(found, 1);
}

TEST(Layers, AreFoundByOutline) {
  expect_outlined<Lstm>(
      "lstm", [](const Lstm& layer, Value x, State& h, State& c) { return layer.run(x, h, c); });
  expect_outlined<Gru>("gru",
                       [](const Gru& layer, Value x, State& h, State&) { return layer.run(x, h); });
  expect_outlined<Rnn>("rnn",
                       [](const Rnn& layer, Value x, State& h, State&) { return layer.run(x, h); });
}

TEST(Layers, LstmIsPyTorchs) {
  expect_golden<Lstm>(
      "lstm", [](const Lstm& layer, Value x, State& h, State& c) { return layer.run(x, h, c); });
}

TEST(Layers, GruIsPyTorchs) {
  expect_golden<Gru>("gru",
                     [](const Gru& layer, Value x, State& h, State&) { return layer.run(x, h); });
}

TEST(Layers, RnnIsPyTorchs) {
  expect_golden<Rnn>("rnn",
                     [](const Rnn& layer, Value x, State& h, State&) { return layer.run(x, h); });
}

TEST(Layers, LinearEmbeddingAndLayerNormFollowTheirEquations) {
  Model m("m");
  const Embedding embedding(m, "words", 7, 3);
  const Linear linear(m, "linear", 3, 2, glorot_uniform(), constant(0.5));
  const LayerNorm norm(m, "norm", 2);
  m.graph("f", [&](Inputs& in) {
    Value rows = embedding(in("words", i32, {"n"}));
    Value y = linear(rows);
    return Results(Values{rows, y, norm(y)});
  });
  SessionOptions options{.target = "reference"};
  Session session(m, options);
  session.set_state("norm.gain", random_uniform({2}, 4).literal());
  session.set_state("norm.bias", random_uniform({2}, 5).literal());
  const Tensor words = random_integers({4}, 7, 3);
  const Outputs outputs = session("f", words);
  const Literal table = session.state("words"), w = session.state("linear.w"),
                gain = session.state("norm.gain"), bias = session.state("norm.bias");
  for (int64_t i = 0; i < 4; ++i) {
    double y[2] = {0.5, 0.5};
    for (int64_t k = 0; k < 3; ++k) {
      const double x = table.element(words.data<int32_t>()[size_t(i)] * 3 + k);
      EXPECT_EQ(outputs[0].literal().element(i * 3 + k), x);
      for (int64_t j = 0; j < 2; ++j) y[j] += x * w.element(k * 2 + j);
    }
    const double mean = (y[0] + y[1]) / 2, deviation = (y[0] - y[1]) / 2;
    const double scale = 1 / std::sqrt(deviation * deviation + 1e-5);
    for (int64_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(outputs[1].literal().element(i * 2 + j), y[j], 1e-6);
      EXPECT_NEAR(outputs[2].literal().element(i * 2 + j),
                  (y[j] - mean) * scale * gain.element(j) + bias.element(j), 1e-4);
    }
  }
}

TEST(Layers, AnErrorHasTheLineOfTheCall) {
  Model m("m");
  const Lstm lstm(m, "l", 4, 5);
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    Value xs = in("x", f32, {2, 3, 7});
    State h(filled({3, 5}, 0)), c(filled({3, 5}, 0));
    line = __LINE__ + 1;
    return lstm.run(xs, h, c);
  });
  try {
    m.trace("f", Extents{});
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, line) << error.what();
    EXPECT_THAT(error.where().file, ::testing::EndsWith("tests/frontend/layers_test.cpp"));
  }
}

TEST(Layers, ForgetGateStartsAtItsBias) {
  Model m("m");
  const Lstm lstm(m, "l", 2, 3);
  Session session(m, {.target = "reference"});
  const Literal b = session.state("l.b");
  for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(b.element(i), i >= 3 && i < 6 ? 1 : 0);
}

TEST(Dropout, KeepsWhileTrainingAndIsNotThereOtherwise) {
  Model m("m");
  const Dropout drop({.keep = 0.25});
  const auto graph = [&](Inputs& in) { return drop(in("x", f32, {1000})); };
  m.graph("train", Mode::training, graph);
  m.graph("test", graph);
  Session session(m, {.target = "reference"});
  const Tensor x = Literal(std::vector<float>(1000, 1), {1000});
  const Tensor test = session("test", x), train = session("train", x);
  EXPECT_EQ(std::ranges::count(test.data<float>(), 1.0f), 1000);
  const auto kept = std::ranges::count(train.data<float>(), 4.0f);
  EXPECT_EQ(kept + std::ranges::count(train.data<float>(), 0.0f), 1000);
  EXPECT_NEAR(double(kept), 250, 60);
}

/// The layer of `make` on a sequence, and on that sequence from its end.
template <typename Layer>
std::pair<Literal, Literal> both_ways(const Layer& layer, Model& m) {
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", kBatch, kInputs});
    return Values{layer(x), reverse(layer(reverse(x, {0}), {.reverse = true}), {0})};
  });
  Session session(m, f64_reference());
  const Outputs outputs = session("f", random_uniform({6, kBatch, kInputs}, 3));
  return {outputs[0].literal(), outputs[1].literal()};
}

TEST(Recurrent, BackwardsIsForwardsOnTheReversedSequence) {
  Model lstm("lstm"), gru("gru"), rnn("rnn");
  const auto expect_same = [](const std::pair<Literal, Literal>& found) {
    EXPECT_EQ(found.first.shape(), Shape({6, kBatch, kHidden}));
    expect_golden_values(found.second, found.first);
  };
  expect_same(both_ways(Lstm(lstm, "l", kInputs, kHidden), lstm));
  expect_same(both_ways(Gru(gru, "l", kInputs, kHidden), gru));
  expect_same(both_ways(Rnn(rnn, "l", kInputs, kHidden), rnn));
}

TEST(Recurrent, BidirectionalIsOneEachWaySideBySide) {
  Model m("m");
  const Bidirectional<Gru> layer(m, "layer", kInputs, kHidden);
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", kBatch, kInputs});
    return Values{layer(x), layer.forward(x), layer.backward(x, {.reverse = true})};
  });
  Session session(m, f64_reference());
  const Outputs outputs = session("f", random_uniform({4, kBatch, kInputs}, 5));
  const Literal both = outputs[0].literal();
  ASSERT_EQ(both.shape(), Shape({4, kBatch, 2 * kHidden}));
  for (int64_t row = 0; row < 4 * kBatch; ++row) {
    for (int64_t i = 0; i < kHidden; ++i) {
      EXPECT_EQ(both.element(row * 2 * kHidden + i),
                outputs[1].literal().element(row * kHidden + i));
      EXPECT_EQ(both.element(row * 2 * kHidden + kHidden + i),
                outputs[2].literal().element(row * kHidden + i));
    }
  }
}

TEST(Recurrent, StackedFeedsEachLayerWhatTheOneBelowGives) {
  Model m("m");
  const Stacked<Bidirectional<Lstm>> layers(m, "encoder", 3, kInputs, kHidden, {.keep = 0.5});
  EXPECT_EQ(layers.layers[2].backward.w.shape(), Shape({2 * kHidden, 4 * kHidden}));
  EXPECT_EQ(layers.layers[2].backward.w.name(), "encoder.2.backward.w");
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {"steps", kBatch, kInputs});
    return Values{layers(x), layers.layers[2](layers.layers[1](layers.layers[0](x)))};
  });
  Session session(m, f64_reference());
  const Outputs outputs = session("f", random_uniform({4, kBatch, kInputs}, 5));
  expect_golden_values(outputs[0].literal(), outputs[1].literal());
}

TEST(Initializers, OrthogonalRowsOrColumnsAreOrthonormal) {
  for (const Shape& shape : {Shape{12, 12}, Shape{5, 20}, Shape{20, 5}}) {
    const Literal q = initial_value(orthogonal(2), {DType::f32, shape}, 7, {});
    const bool wide = shape[1] > shape[0];
    const int64_t few = std::min(shape[0], shape[1]), many = std::max(shape[0], shape[1]);
    for (int64_t i = 0; i < few; ++i) {
      for (int64_t j = 0; j < few; ++j) {
        double dot = 0;
        for (int64_t k = 0; k < many; ++k) {
          dot += wide ? q.element(i * many + k) * q.element(j * many + k)
                      : q.element(k * few + i) * q.element(k * few + j);
        }
        EXPECT_NEAR(dot, i == j ? 4 : 0, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core

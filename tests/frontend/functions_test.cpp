// SPDX-License-Identifier: Apache-2.0
// Functions, random keys, initialisers and optimizers, against numbers worked out here.
#include "frontend/functions.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Literals, ArePartOfTheProgram) {
  Model m("m");
  m.graph("g", [](Inputs& in) {
    const Value labels = in("labels", DType::i32, {3});
    return Values{gather(literal(std::vector<float>{1, 0.1f, 5}), labels),
                  literal(std::vector<int64_t>{(int64_t{1} << 53) + 1, -2}),
                  literal(Data(std::vector<double>{1, 2, 3, 4}, {2, 2})), literal(7)};
  });
  m.graph("large", [](Inputs&) { return literal(std::vector<float>(5000)); });
  m.graph("truth", [](Inputs&) { return literal(std::vector<bool>{true}); });
  Session s(m, {.target = "reference"});
  const Outputs found = s("g", std::vector<int>{2, 0, 1});
  EXPECT_THAT(found[0].to_vector(), ElementsAre(5, 1, 0.1f));
  EXPECT_THAT(found[1].to_vector<int64_t>(), ElementsAre((int64_t{1} << 53) + 1, -2));
  EXPECT_EQ(found[2].type(), (Type{DType::f64, {2, 2}}));
  EXPECT_EQ(found[3].type(), (Type{DType::i32, {}}));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("large"); }),
              HasSubstr("wanted at most 4096 numbers, found f32[5000]"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("truth"); }), HasSubstr("found bool[1]"));
}

SessionOptions reference(uint64_t seed = 0) {
  return {.target = "reference", .seed = seed, .announce = [](const std::string&) {}};
}

int64_t zeros_in(const Tensor& tensor) {
  int64_t count = 0;
  for (const float x : tensor.data<float>()) count += x == 0 ? 1 : 0;
  return count;
}

TEST(Functions, SplitAndAtCountFromTheEndToo) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value x = in("x", f32, {3, 4});
    auto [a, b] = split<2>(x);
    auto [first, second, third] = split<3>(x, 0);
    return Results(Values{a, b, second, at(x, -1), at(x, 0)});
  });
  const GraphPtr graph = m.trace("f", Extents{}).graph;
  EXPECT_EQ(graph->results()[0].shape(), Shape({3, 2}));
  EXPECT_EQ(graph->results()[2].shape(), Shape({1, 4}));
  Session session(m, reference());
  const Tensor x = random_uniform({3, 4}, 1);
  const Outputs outputs = session("f", x);
  EXPECT_EQ(outputs[1].data<float>()[0], x.data<float>()[2]);
  EXPECT_EQ(outputs[3].data<float>()[1], x.data<float>()[9]);
  EXPECT_EQ(outputs[4].data<float>()[1], x.data<float>()[1]);
  m.graph("g", [](Inputs& in) { return at(in("x", f32, {3, 4}), 3); });
  EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace("g", Extents{}); }),
            "at: 3 is outside axis 0 of f32[3,4]");
}

TEST(Functions, GradientsAreByTheValueBeforeTheGraphRan) {
  Model m("m");
  Param w = m.param("w", {2}, constant(3));
  m.graph("f", Mode::training, [&](Inputs&) {
    Value loss = sum(w * w * w);
    w = w * 100;
    return gradients(loss, Params{w})[0];
  });
  Session session(m, reference());
  EXPECT_THAT(Tensor(session("f")).data<float>(), ElementsAre(27, 27));
  EXPECT_THAT(session.state("w").data<float>(), ElementsAre(300, 300));
}

TEST(Functions, GradientOfAWatchedValue) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value hidden = watch(square(in("x", f32, {2})));
    return gradients(sum(hidden * hidden), Values{hidden})[0];
  });
  Session session(m, reference());
  const float x[] = {3, 5};
  EXPECT_THAT(Tensor(session("f", Tensor(Literal(std::span<const float>(x), {2})))).data<float>(),
              ElementsAre(18, 50));
}

TEST(Dropout, IsIdentityWhileEvaluatingAndScalesWhileTraining) {
  Model m("m");
  const auto graph = [](Inputs& in) { return dropout(in("x", f32, {40, 50}), {.keep = 0.8}); };
  m.graph("train", Mode::training, graph);
  m.graph("forward", graph);
  Session session(m, reference());
  const Tensor ones = Literal::filled({DType::f32, {40, 50}}, 1);
  EXPECT_EQ(Tensor(session("forward", ones)).literal(), ones.literal());
  const Tensor y = session("train", ones);
  for (const float v : y.data<float>()) EXPECT_TRUE(v == 0 || v == 1.25f) << v;
  // 2000 draws at 0.2: within five deviations of 400.
  EXPECT_NEAR(double(zeros_in(y)), 400, 90);
}

TEST(Dropout, DrawsAnewInEveryRunCallAndStepAndTheSameForTheSameSeed) {
  Model m("m");
  m.graph("train", Mode::training, [](Inputs& in) {
    Value x = in("x", f32, {64});
    Value steps = scan(Steps(3), [&](Value) { return dropout(x, {.keep = 0.5}); });
    return Results(Values{dropout(x, {.keep = 0.5}), dropout(x, {.keep = 0.5}), steps});
  });
  const Tensor ones = Literal::filled({DType::f32, {64}}, 1);
  const auto draws = [&](uint64_t seed) {
    Session session(m, reference(seed));
    std::vector<std::vector<float>> masks;
    for (int run = 0; run < 2; ++run) {
      const Outputs outputs = session("train", ones);
      for (const Tensor& tensor : outputs) {
        const auto data = tensor.data<float>();
        for (size_t i = 0; i < data.size(); i += 64)
          masks.emplace_back(data.begin() + long(i), data.begin() + long(i + 64));
      }
    }
    return masks;
  };
  const auto masks = draws(1);
  EXPECT_EQ(masks.size(), 10u);
  EXPECT_EQ(std::set(masks.begin(), masks.end()).size(), 10u);
  EXPECT_EQ(draws(1), masks);
  EXPECT_NE(draws(2), masks);
}

TEST(Dropout, GradientsSeeTheMaskThatWasDrawn) {
  // Where x is 1, what is kept and its derivative are the same number.
  Model m("m");
  m.graph("train", Mode::training, [](Inputs& in) {
    Value x = in("x", f32, {4, 50});
    Value whole = dropout(x, {.keep = 0.5}),
          steps = scan(x, [](Value x_t) { return dropout(x_t, {.keep = 0.25}); });
    return Values{whole, gradients(sum(whole), Values{x})[0], steps,
                  gradients(sum(steps), Values{x})[0]};
  });
  const Tensor ones = Literal::filled({DType::f32, {4, 50}}, 1);
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    for (int run = 0; run < 2; ++run) {
      const Outputs outputs = session("train", ones);
      EXPECT_EQ(outputs[0].literal(), outputs[1].literal()) << target;
      EXPECT_EQ(outputs[2].literal(), outputs[3].literal()) << target;
      EXPECT_GT(zeros_in(outputs[2]), 100) << target;
    }
  }
}

TEST(Dropout, RefusesAKeepOutsideItsRange) {
  Model m("m");
  m.graph("f", [](Inputs& in) { return dropout(in("x", f32, {2}), {.keep = 0}); });
  EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace("f", Extents{}); }),
            "dropout: keep is in (0, 1]: found 0");
}

TEST(Initializers, DrawFromTheRangeTheyPromise) {
  const auto drawn = [](const Initializer& initializer, Shape shape) {
    return initial_value(initializer, {DType::f32, shape}, 42, {});
  };
  const Literal u = drawn(uniform(0.25), {50, 40});
  double total = 0, largest = 0;
  for (const float x : u.data<float>()) {
    EXPECT_TRUE(x >= -0.25f && x < 0.25f);
    total += x;
    largest = std::max(largest, double(std::abs(x)));
  }
  EXPECT_NEAR(total / 2000, 0, 0.02);
  EXPECT_GT(largest, 0.24);
  const Literal g = drawn(glorot_uniform(), {30, 120});
  const double limit = std::sqrt(6.0 / 150);
  largest = 0;
  for (const float x : g.data<float>()) largest = std::max(largest, double(std::abs(x)));
  EXPECT_LE(largest, limit);
  EXPECT_GT(largest, 0.98 * limit);
  double squares = 0;
  const Literal n = drawn(normal(2), {50, 40});
  for (const float x : n.data<float>()) squares += double(x) * x;
  EXPECT_NEAR(std::sqrt(squares / 2000), 2, 0.15);
  EXPECT_THAT(drawn(parts({zeros(), constant(1), constant(2)}), {6}).data<float>(),
              ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(Initializers, PartsDrawDifferently) {
  const Literal p = initial_value(parts({uniform(1), uniform(1)}), {DType::f32, {2, 8}}, 42, {});
  EXPECT_NE(p.element(0), p.element(4));
}

TEST(Initializers, AnErrorIsAtTheDeclaration) {
  Model m("m");
  const int line = __LINE__ + 1;
  const Param b = m.param("b", {5}, parts({zeros(), zeros()}));
  m.graph("f", [&](Inputs&) { return b * 2; });
  Session session(m, reference());
  try {
    session("f");
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, line);
    EXPECT_THAT(error.message(), HasSubstr("f32[5] has no 2 equal parts"));
  }
}

/// loss = sum(a * w1) + sum(b * w2): the gradients are a and b.
struct Linear2 {
  Model m{"m"};
  Param w1 = m.param("w1", {2}, constant(1)), w2 = m.param("w2", {1}, constant(1));

  Linear2(std::optional<double> clip) {
    m.graph("train", Mode::training, [this, clip](Inputs& in) {
      Value a = in("a", f32, {2}), b = in("b", f32, {1}), rate = in("rate", f32, {});
      Value loss = sum(a * w1) + sum(b * w2);
      Values d = minimize(loss, m.params(), Sgd{.rate = rate, .clip_norm = clip});
      return global_norm(d);
    });
  }
};

Tensor floats_of(std::vector<float> v) {
  return Literal(std::span<const float>(v), {int64_t(v.size())});
}

TEST(Sgd, StepsDownTheGradientAtTheRateOfTheCall) {
  Linear2 model({});
  Session session(model.m, reference());
  const Tensor norm =
      session("train", floats_of({3, 4}), floats_of({12}), Tensor(Literal::of(0.5f)));
  EXPECT_FLOAT_EQ(norm.item<float>(), 13);
  EXPECT_THAT(session.state("w1").data<float>(), ElementsAre(-0.5f, -1));
  EXPECT_THAT(session.state("w2").data<float>(), ElementsAre(-5));
}

TEST(Sgd, ClipsByTheGlobalNormOnlyAboveTheLimit) {
  Linear2 clipped(6.5), loose(20);
  for (const bool clips : {true, false}) {
    Session session(clips ? clipped.m : loose.m, reference());
    session("train", floats_of({3, 4}), floats_of({12}), Tensor(Literal::of(1.0f)));
    const float factor = clips ? 0.5f : 1;
    EXPECT_FLOAT_EQ(session.state("w1").data<float>()[0], 1 - 3 * factor);
    EXPECT_FLOAT_EQ(session.state("w1").data<float>()[1], 1 - 4 * factor);
    EXPECT_FLOAT_EQ(session.state("w2").data<float>()[0], 1 - 12 * factor);
  }
  Session session(clipped.m, reference());
  session("train", floats_of({0, 0}), floats_of({0}), Tensor(Literal::of(1.0f)));
  EXPECT_EQ(session.state("w1").element(0), 1);
}

}  // namespace
}  // namespace graphc::core

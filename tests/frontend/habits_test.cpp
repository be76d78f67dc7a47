// SPDX-License-Identifier: Apache-2.0
// What a user of PyTorch, Keras or NumPy types: axes from the end, parts, comparisons, reductions.
// Where docs/from-pytorch.md lists a difference that can be tried, it is tried here.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "ir/evaluate.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// x is 0, 1, 2, ... of the shape.
GraphPtr traced(const Shape& shape, const std::function<Results(Value)>& function) {
  Model m("m");
  m.graph("f", [&](Inputs&) {
    const Value elements = iota({shape.elements()}, 0, f32);
    return function(reshape(elements, shape));
  });
  return m.trace("f", Extents{}).graph;
}

std::vector<Literal> results(const Shape& shape, const std::function<Results(Value)>& function) {
  return evaluate(*traced(shape, function), {}).results;
}

std::vector<double> numbers(const Literal& literal) {
  std::vector<double> elements;
  for (int64_t i = 0; i < literal.elements(); ++i) elements.push_back(literal.element(i));
  return elements;
}

std::string message(const Shape& shape, const std::function<Results(Value)>& function) {
  return error_of(ErrorKind::input, [&] { traced(shape, function); });
}

TEST(Habits, AxesCountFromTheEnd) {
  // Each as it is written from the end and from the front.
  using ForthAndBack = std::pair<std::function<Value(Value)>, std::function<Value(Value)>>;
  const std::vector<ForthAndBack> pairs = {
      {[](Value x) { return sum(x, -1); }, [](Value x) { return sum(x, {2}); }},
      {[](Value x) { return mean(x, {-1, 0}); }, [](Value x) { return mean(x, {0, 2}); }},
      {[](Value x) { return max(x, -2, true); }, [](Value x) { return max(x, {1}, true); }},
      {[](Value x) { return min(x, -3); }, [](Value x) { return min(x, 0); }},
      {[](Value x) { return prod(x, {-2, -1}); }, [](Value x) { return prod(x, {1, 2}); }},
      {[](Value x) { return variance(x, -1); }, [](Value x) { return variance(x, {2}); }},
      {[](Value x) { return cumsum(x, -2); }, [](Value x) { return cumsum(x, 1); }},
      {[](Value x) { return argmax(x, -1); }, [](Value x) { return argmax(x, 2); }},
      {[](Value x) { return argmin(x, -3); }, [](Value x) { return argmin(x, 0); }},
      {[](Value x) { return concat({x, x}, -1); }, [](Value x) { return concat({x, x}, 2); }},
      {[](Value x) { return split(x, 2, -1)[1]; }, [](Value x) { return split(x, 2, 2)[1]; }},
      {[](Value x) { return slice(x, -1, 1, 3); }, [](Value x) { return slice(x, 2, 1, 3); }},
      {[](Value x) { return slice(x, 1, -2, -1); }, [](Value x) { return slice(x, 1, 1, 2); }},
      {[](Value x) { return reverse(x, -1); }, [](Value x) { return reverse(x, {2}); }},
      {[](Value x) { return stack({x, x}, -1); }, [](Value x) { return stack({x, x}, 3); }},
      {[](Value x) { return unstack(x, -1)[1]; }, [](Value x) { return unstack(x, 2)[1]; }},
      {[](Value x) { return at(x, -1, -1); }, [](Value x) { return at(x, 3, 2); }},
      {[](Value x) { return transpose(x, {-1, 0, 1}); },
       [](Value x) { return transpose(x, {2, 0, 1}); }},
      {[](Value x) { return transpose(x, -1, -2); },
       [](Value x) { return transpose(x, {0, 2, 1}); }},
      {[](Value x) { return softmax(x, -1); }, [](Value x) { return softmax(x); }},
      {[](Value x) { return softmax(x, -2); },
       [](Value x) { return transpose(softmax(transpose(x, {0, 2, 1})), {0, 2, 1}); }},
      {[](Value x) { return log_softmax(x, 0); },
       [](Value x) { return transpose(log_softmax(transpose(x, {2, 1, 0})), {2, 1, 0}); }},
  };
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<Literal> both =
        results({2, 3, 4}, [&](Value x) { return Values{pairs[i].first(x), pairs[i].second(x)}; });
    EXPECT_EQ(both[0], both[1]) << "pair " << i;
  }
  EXPECT_EQ(message({2, 3}, [](Value x) { return sum(x, -3); }),
            "sum: axis -3 is outside a value of rank 2");
  EXPECT_EQ(message({2, 3}, [](Value x) { return sum(x, {0, -2}); }),
            "sum: axes are distinct and ascending: found [0,0]");
  EXPECT_THAT(message({2, 3}, [](Value x) { return stack({x}, -4); }), HasSubstr("axis -4"));
}

TEST(Habits, ReductionsTakeAllAxesOneOrSeveral) {
  const std::vector<Literal> found = results({2, 3}, [](Value x) {
    return Values{sum(x),       mean(x),     max(x),    min(x),    prod(x),
                  variance(x),  argmax(x),   argmin(x), sum(x, 1), sum(x, {0, 1}, true),
                  argmax(x, 1), argmin(x, 0)};
  });
  const std::vector<std::vector<double>> wanted = {{15}, {2.5}, {5},     {0},  {0},    {35.0 / 12},
                                                   {5},  {0},   {3, 12}, {15}, {2, 2}, {0, 0, 0}};
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(numbers(found[i]).size(), wanted[i].size()) << i;
    for (size_t j = 0; j < wanted[i].size(); ++j)
      EXPECT_NEAR(numbers(found[i])[j], wanted[i][j], 1e-6) << i;
  }
  EXPECT_EQ(found[0].shape(), Shape{});
  EXPECT_EQ(found[9].shape(), Shape({1, 1}));
}

TEST(Habits, ReshapeWorksOutOneExtent) {
  const std::vector<Literal> found = results({2, 3, 4}, [](Value x) {
    return Values{reshape(x, {-1}), reshape(x, {2, -1}), reshape(x, {-1, 4, 3}),
                  reshape(x, {4, 6})};
  });
  EXPECT_EQ(found[0].shape(), Shape({24}));
  EXPECT_EQ(found[1].shape(), Shape({2, 12}));
  EXPECT_EQ(found[2].shape(), Shape({2, 4, 3}));
  EXPECT_EQ(found[3].shape(), Shape({4, 6}));
  EXPECT_EQ(message({2, 3}, [](Value x) { return reshape(x, {4, -1}); }),
            "reshape: no extent in the place of -1 brings f32[2,3] to [4,-1]");
  EXPECT_THAT(message({2, 3}, [](Value x) { return reshape(x, {-1, -1}); }),
              HasSubstr("no extent in the place of -1"));
  EXPECT_THAT(message({2, 3}, [](Value x) { return reshape(x, {0, -1}); }),
              HasSubstr("no extent in the place of -1"));
}

TEST(Habits, PartsAreWrittenWithBrackets) {
  const std::vector<Literal> found = results({4, 3}, [](Value x) {
    return Values{x[1],
                  x[-1],
                  x[1][2],
                  x[{1, 3}],
                  x[{.from = -2}],
                  x[{.until = -3}],
                  x[{.from = 1, .axis = -1}],
                  x[{.from = 1, .until = -1, .axis = 1}]};
  });
  EXPECT_THAT(numbers(found[0]), ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers(found[1]), ElementsAre(9, 10, 11));
  EXPECT_THAT(numbers(found[2]), ElementsAre(5));
  EXPECT_THAT(numbers(found[3]), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(numbers(found[4]), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(numbers(found[5]), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(found[6]), ElementsAre(1, 2, 4, 5, 7, 8, 10, 11));
  EXPECT_EQ(found[6].shape(), Shape({4, 2}));
  EXPECT_EQ(found[7].shape(), Shape({4, 1}));
  EXPECT_EQ(message({4, 3}, [](Value x) { return x[4]; }), "at: 4 is outside axis 0 of f32[4,3]");
  EXPECT_EQ(message({4, 3}, [](Value x) { return x[{.from = 2, .until = 9}]; }),
            "slice: [2, 9) is outside axis 0 of f32[4,3]");
  EXPECT_EQ(message({4, 3}, [](Value x) { return x[{.axis = 2}]; }),
            "slice: axis 2 is outside f32[4,3]");
}

TEST(Habits, APartHasTheLineThatWroteIt) {
  Model m("m");
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    Value x = in("x", f32, {2});
    line = __LINE__ + 1;
    return x[7];
  });
  m.graph("g", [&](Inputs& in) {
    Value x = in("x", f32, {2});
    line = __LINE__ + 1;
    return x[{.from = 7}];
  });
  for (const char* graph : {"f", "g"}) {
    try {
      m.trace(graph, Extents{});
      FAIL() << "wanted an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.where().line, line) << error.what();
      EXPECT_THAT(error.where().file, ::testing::EndsWith("habits_test.cpp"));
    }
  }
}

TEST(Habits, ComparisonsAreValues) {
  const std::vector<Literal> found = results({6}, [](Value x) {
    const Value y = reverse(x, 0);
    return Values{x<2, x <= 2, x> y, 5 >= x, select(x > 1 && x < 4, x, -1),
                  select(x < 1 || !(x < 5), 1, 0.0 * x), cast(x >= 3, f32) * x};
  });
  EXPECT_THAT(numbers(found[0]), ElementsAre(1, 1, 0, 0, 0, 0));
  EXPECT_THAT(numbers(found[1]), ElementsAre(1, 1, 1, 0, 0, 0));
  EXPECT_THAT(numbers(found[2]), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(numbers(found[3]), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(numbers(found[4]), ElementsAre(-1, -1, 2, 3, -1, -1));
  EXPECT_THAT(numbers(found[5]), ElementsAre(1, 0, 0, 0, 0, 1));
  EXPECT_THAT(numbers(found[6]), ElementsAre(0, 0, 0, 3, 4, 5));
  EXPECT_EQ(found[0].dtype(), DType::boolean);
  // == asks whether both are one value: equal() compares elements.
  results({2}, [](Value x) {
    EXPECT_TRUE(x == x);
    EXPECT_FALSE(x == x + 0);
    return x;
  });
}

TEST(Habits, AssignmentsOfArithmetic) {
  const std::vector<Literal> found = results({3}, [](Value x) {
    Value y = x;
    y += 1;
    y *= y;
    y -= x;
    y /= 2;
    State h(x);
    h += 10;
    h *= 2;
    h -= x;
    h /= 4;
    return Values{y, h};
  });
  EXPECT_THAT(numbers(found[0]), ElementsAre(0.5, 1.5, 3.5));
  EXPECT_THAT(numbers(found[1]), ElementsAre(5, 5.25, 5.5));
}

TEST(Habits, GradientsOfParametersValuesAndStatesTogether) {
  Model m("m");
  const Param w = m.param("w", {}, constant(3));
  const State s = m.state("s", {DType::f32, {}}, constant(5));
  m.graph("f", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {});
    Value loss = w * w * x + s * x;
    Values all = gradients(loss, {w, x, s});
    const Values params = gradients(loss, m.params()), two = gradients(loss, {x, x});
    all.insert(all.end(), params.begin(), params.end());
    all.insert(all.end(), two.begin(), two.end());
    return Results(all);
  });
  Session session(m, {.target = "reference"});
  std::vector<double> found;
  for (const Tensor& d : session("f", Literal::of(2.0f))) found.push_back(d.literal().element(0));
  EXPECT_THAT(found, ElementsAre(12, 14, 2, 12, 14, 14));
}

TEST(Habits, InitialisersAreThoseOfTheList) {
  // docs/from-pytorch.md says how layers begin.
  Model m("m");
  const Linear linear(m, "linear", 40, 60);
  const Embedding embedding(m, "embedding", 100, 8);
  const Lstm lstm(m, "lstm", 10, 5);
  const Gru gru(m, "gru", 10, 5);
  const LayerNorm norm(m, "norm", 4);
  Session session(m, {.target = "reference"});
  const auto largest = [&](const char* name) {
    double most = 0;
    for (double x : numbers(session.state(name))) most = std::max(most, std::abs(x));
    return most;
  };
  EXPECT_LE(largest("linear.w"), std::sqrt(6.0 / 100));
  EXPECT_GT(largest("linear.w"), 0.95 * std::sqrt(6.0 / 100));
  EXPECT_LE(largest("lstm.w"), std::sqrt(6.0 / (10 + 20)));
  EXPECT_LE(largest("lstm.u"), std::sqrt(6.0 / (5 + 20)));
  EXPECT_EQ(largest("linear.b"), 0);
  EXPECT_EQ(largest("gru.b"), 0);
  EXPECT_THAT(numbers(session.state("lstm.b")),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(numbers(session.state("norm.gain")), ElementsAre(1, 1, 1, 1));
  double square = 0;
  for (double x : numbers(session.state("embedding"))) square += x * x;
  EXPECT_NEAR(square / 800, 1, 0.15);
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// scan, and states that are assigned in it.
#include "frontend/scan.h"

#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "ir/scan.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

SessionOptions quiet_reference() {
  return {.target = "reference", .announce = [](const std::string&) {}};
}

/// The first scan of a graph.
Scan scan_of(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::scan)) return Scan(node);
  }
  throw input_error({}, "the graph has no scan");
}

std::vector<float> floats(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

Tensor vector_of(std::vector<float> elements) {
  return Literal(std::span<const float>(elements), {int64_t(elements.size())});
}

TEST(Scan, AssignedStateIsACarryAndReadStateACapture) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Value xs = in("xs", f32, {"steps", 3});
    Value scale = in("scale", f32, {3});
    State total(filled({3}, 0), "total"), kept(scale * 2, "kept");
    Value y = scan(xs, [&](Value x) {
      total = total + x * kept;
      return total;
    });
    return Results{{"y", y}, {"total", total}, {"kept", kept}};
  });
  const GraphPtr graph = m.trace("f", Extents{{"steps", 4}}).graph;
  const Scan loop = scan_of(*graph);
  EXPECT_EQ(loop.steps(), 4);
  ASSERT_EQ(loop.streams().size(), 1u);
  ASSERT_EQ(loop.initial().size(), 1u);
  EXPECT_EQ(loop.body_carries()[0].name(), "total");
  ASSERT_EQ(loop.captures().size(), 1u);
  EXPECT_EQ(loop.body_captures()[0].name(), "kept");
  EXPECT_EQ(loop.emits().size(), 1u);

  Session session(m, quiet_reference());
  const Tensor xs = random_uniform({4, 3}, 7), scale = random_uniform({3}, 8);
  const Outputs outputs = session("f", xs, scale);
  std::vector<float> total(3), all;
  for (size_t t = 0; t < 4; ++t) {
    for (size_t i = 0; i < 3; ++i) {
      total[i] += xs.data<float>()[t * 3 + i] * 2 * scale.data<float>()[i];
      all.push_back(total[i]);
    }
  }
  EXPECT_THAT(floats(outputs["y"]), Pointwise(FloatNear(1e-6f), all));
  EXPECT_THAT(floats(outputs["total"]), Pointwise(FloatNear(1e-6f), total));
}

TEST(Scan, ReverseRunsFromTheLastStepAndKeepsPlaces) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    State total(filled({}, 0));
    return scan(in("xs", f32, {"steps"}),
                [&](Value x) {
                  total = total * 10 + x;
                  return total;
                },
                {.reverse = true});
  });
  Session session(m, quiet_reference());
  EXPECT_THAT(floats(session("f", vector_of({1, 2, 3}))), ElementsAre(321, 32, 3));
}

TEST(Scan, SaveEveryKeepsTheGradientsAndIsANumberOfSteps) {
  Model m("m");
  Param w = m.param("w", {}, constant(0.5));
  for (const int64_t steps : {0, 2, 3}) {
    m.graph(fmt::format("every {}", steps), [&, steps](Inputs& in) {
      State total(filled({}, 0));
      const Value ys = scan(in("xs", f32, {"steps"}),
                            [&](Value x) {
                              total = tanh(total * w + x);
                              return total;
                            },
                            {.save_every = steps});
      return gradients(sum(ys), {w})[0];
    });
  }
  m.graph("negative", [&](Inputs& in) {
    return scan(in("xs", f32, {"steps"}), [&](Value x) { return x; }, {.save_every = -1});
  });
  Session session(m, quiet_reference());
  const Tensor xs = vector_of({0.1f, -0.7f, 0.4f, 0.9f, -0.2f});
  const double wanted = session("every 0", xs).scalar();
  EXPECT_NE(wanted, 0);
  EXPECT_DOUBLE_EQ(session("every 2", xs).scalar(), wanted);
  EXPECT_DOUBLE_EQ(session("every 3", xs).scalar(), wanted);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { session("negative", xs); }),
              HasSubstr("scan: save_every is a number of steps, or 0: found -1"));
}

TEST(Scan, SeveralStreamsSeveralEmits) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Value a = in("a", f32, {"steps"}), b = in("b", f32, {"steps"});
    auto [sums, products] = scan({a, b}, [&](Value x, Value y) { return std::pair(x + y, x * y); });
    const Values same = scan(Values{a, b}, [&](const Values& xs) { return Values{xs[1] - xs[0]}; });
    return Results(Values{sums, products, same[0]});
  });
  Session session(m, quiet_reference());
  const Outputs outputs = session("f", vector_of({1, 2, 3}), vector_of({5, 7, 11}));
  EXPECT_THAT(floats(outputs[0]), ElementsAre(6, 9, 14));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(5, 14, 33));
  EXPECT_THAT(floats(outputs[2]), ElementsAre(4, 5, 8));
}

TEST(Scan, StepsWithoutAStream) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    State power(in("x", f32, {}));
    Value squares = scan(Steps(4), [&](Value index) {
      power = power * 2;
      return cast(index * index, f32);
    });
    State count(filled({}, 0));
    scan(Steps(3), [&] { count = count + cast(step_index() + 1, f32); });
    return Results(Values{power, squares, count});
  });
  Session session(m, quiet_reference());
  const Outputs outputs = session("f", Tensor(Literal::of(3.0f)));
  EXPECT_EQ(outputs[0].item<float>(), 48);
  EXPECT_THAT(floats(outputs[1]), ElementsAre(0, 1, 4, 9));
  EXPECT_EQ(outputs[2].item<float>(), 6);
}

TEST(Scan, NestedLoopsCarryTheStatesTheyAssign) {
  // count runs over 3 x 4 steps; rows restarts in each outer step.
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Value xs = in("xs", f32, {3, 4});
    State count(filled({}, 0), "count");
    Value rows = scan(xs, [&](Value row) {
      State total(filled({}, 0), "row");
      scan(row, [&](Value x) {
        total = total + x;
        count = count + 1;
      });
      return total;
    });
    return Results(Values{rows, count});
  });
  Session session(m, quiet_reference());
  std::vector<float> xs(12);
  for (size_t i = 0; i < 12; ++i) xs[i] = float(i * i + 1);
  const Outputs outputs = session("f", Tensor(Literal(std::span<const float>(xs), {3, 4})));
  EXPECT_THAT(floats(outputs[0]),
              ElementsAre(xs[0] + xs[1] + xs[2] + xs[3], xs[4] + xs[5] + xs[6] + xs[7],
                          xs[8] + xs[9] + xs[10] + xs[11]));
  EXPECT_EQ(outputs[1].item<float>(), 12);
}

TEST(Scan, ValuesThatDoNotDependOnTheStepAreOutside) {
  Model m("m");
  const Param w = m.param("w", {3, 3}, glorot_uniform()),
              v = m.param("v", {3, 3}, glorot_uniform());
  m.graph("f", [&](Inputs& in) {
    return scan(in("xs", f32, {"steps", 2, 3}), [&](Value x) { return matmul(x, matmul(w, v)); });
  });
  const GraphPtr graph = m.trace("f", Extents{{"steps", 4}}).graph;
  int products = 0;
  for (const Node& node : scan_of(*graph).body().nodes()) products += node.is(ops::matmul) ? 1 : 0;
  EXPECT_EQ(products, 1);
}

TEST(Scan, OneCaptureForOneValueAndNoneForUnusedOnes) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Value xs = in("xs", f32, {"steps"}), a = in("a", f32, {});
    State same(a, "same"), unused(a * 2, "unused");
    return scan(xs, [&](Value x) {
      Value ignored = unused * x;
      (void)ignored;
      return x * a + same;
    });
  });
  EXPECT_EQ(scan_of(*m.trace("f", Extents{{"steps", 4}}).graph).captures().size(), 1u);
}

TEST(Scan, ErrorsNameTheUsersLine) {
  Model m("m");
  const Param w = m.param("w", {3, 3}, zeros());
  int line = 0;
  m.graph("type", [&](Inputs& in) {
    State h(filled({3}, 0), "h");
    Value xs = in("xs", f32, {"steps", 5});
    line = __LINE__ + 1;
    scan(xs, [&](Value x) { h = x * 2; });
    return h;
  });
  m.graph("parameter", [&](Inputs& in) {
    Param copy = w;
    scan(in("xs", f32, {"steps", 3}), [&](Value x) { copy = w + x; });
    return w;
  });
  m.graph("streams", [&](Inputs& in) {
    return scan({in("a", f32, {3}), in("b", f32, {4})}, [&](Value x, Value y) { return x + y; });
  });
  m.graph("scalar", [&](Inputs& in) { return scan(in("a", f32, {}), [&](Value x) { return x; }); });
  m.graph("matmul", [&](Inputs& in) {
    return scan(in("a", f32, {"steps", 2, 5}), [&](Value x) { return matmul(x, w); });
  });
  const Extents steps{{"steps", 2}};
  const auto message = [&](const char* graph) {
    return error_of(ErrorKind::input, [&] { m.trace(graph, steps); });
  };
  EXPECT_EQ(message("type"), "state 'h' is f32[3]: it is assigned f32[5]");
  try {
    m.trace("type", steps);
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, line);
    EXPECT_THAT(error.where().file, HasSubstr("scan_test.cpp"));
  }
  EXPECT_THAT(message("parameter"), HasSubstr("parameter 'w' is assigned inside a scan"));
  EXPECT_THAT(message("streams"),
              HasSubstr("streams differ in steps: %a is f32[3] and %b is f32[4]"));
  EXPECT_THAT(message("scalar"), HasSubstr("a stream has its steps along axis 0"));
  EXPECT_THAT(message("matmul"), HasSubstr("inner dimensions differ: 5 and 3"));
}

TEST(Scan, AStateMadeInALoopIsGoneAfterIt) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    std::optional<State> leaked;
    scan(in("xs", f32, {"steps"}), [&](Value x) { leaked.emplace(x, "inner"); });
    return Value(*leaked);
  });
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("f", Extents{{"steps", 2}}); }),
              HasSubstr("state 'inner' is used outside the loop that made it"));
}

TEST(Scan, AValueOfABodyIsNoValueAfterTheLoop) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Value leaked;
    Value xs = in("xs", f32, {"steps"});
    scan(xs, [&](Value x) { leaked = x * 2; });
    return leaked + sum(xs);
  });
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("f", Extents{{"steps", 2}}); }),
              HasSubstr("used outside the loop"));
}

TEST(Scan, WorksAgainAfterABodyThatThrew) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    Value xs = in("xs", f32, {"steps", 3});
    EXPECT_THROW(scan(xs, [&](Value x) { return matmul(x, x); }), Error);
    return scan(xs, [&](Value x) { return x + 1; });
  });
  EXPECT_EQ(scan_of(*m.trace("f", Extents{{"steps", 2}}).graph).emits().size(), 1u);
}

}  // namespace
}  // namespace graphc::core

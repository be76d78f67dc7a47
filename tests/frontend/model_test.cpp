// SPDX-License-Identifier: Apache-2.0
// Models: declarations, inputs and what is said when they do not fit.
#include "frontend/model.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Type f32_type(Shape shape) { return {DType::f32, shape}; }

TEST(Model, NamedDimsStandForWhatTheCallerBrings) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value x = in("x", f32, {"steps", "batch", 3}), y = in("y", f32, {"batch", 3});
    EXPECT_EQ(in.extent("batch"), 5);
    return x + y;
  });
  const TracedGraph traced = m.trace("f", std::vector{f32_type({4, 5, 3}), f32_type({5, 3})});
  EXPECT_EQ(traced.extents, (Extents{{"batch", 5}, {"steps", 4}}));
  EXPECT_EQ(traced.graph->results()[0].type(), f32_type({4, 5, 3}));
  const TracedGraph same = m.trace("f", Extents{{"steps", 4}, {"batch", 5}});
  EXPECT_TRUE(equal(*traced.graph, *same.graph));
}

TEST(Model, InputsThatDoNotFitAreNamed) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value x = in("x", f32, {"steps", "batch", 3}), y = in("y", f32, {"batch", 3});
    return x + y;
  });
  const auto message = [&](std::vector<Type> types) {
    return error_of(ErrorKind::input, [&] { m.trace("f", types); });
  };
  EXPECT_EQ(message({{DType::i32, {4, 5, 3}}, f32_type({5, 3})}),
            "input 'x' is f32[steps,batch,3]: found i32[4,5,3]");
  EXPECT_EQ(message({f32_type({4, 5}), f32_type({5, 3})}),
            "input 'x' is f32[steps,batch,3]: found f32[4,5]");
  EXPECT_EQ(message({f32_type({4, 5, 2}), f32_type({5, 3})}),
            "input 'x' has extent 3 along axis 2: found f32[4,5,2]");
  EXPECT_EQ(message({f32_type({4, 5, 3}), f32_type({6, 3})}),
            "input 'y': 'batch' is 5 in an input before: found f32[6,3]");
  EXPECT_EQ(message({f32_type({4, 5, 3})}), "graph 'f': input 'y' is missing: found 1 input");
  EXPECT_EQ(message({f32_type({4, 5, 3}), f32_type({5, 3}), f32_type({})}),
            "graph 'f' has 2 inputs: found 3");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace("f", Extents{{"steps", 1}}); }),
            "input 'x': no extent is given for 'batch'");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace("g", Extents{}); }),
            "model 'm' has no graph 'g': it has f");
}

TEST(Model, AWrongShapeNamesTheUsersLine) {
  Model m("m");
  const Param w = m.param("w", {4, 2}, zeros());
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    Value x = in("x", f32, {"batch", 3});
    line = __LINE__ + 1;
    return matmul(x, w);
  });
  try {
    m.trace("f", Extents{{"batch", 2}});
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("tests/frontend/model_test.cpp:" + std::to_string(line)));
    EXPECT_THAT(error.what(), HasSubstr("matmul: inner dimensions differ: 3 and 4"));
  }
}

TEST(Model, StatesAssignedOutsideALoopAreWrittenByTheGraph) {
  Model m("m");
  State count = m.state("count", {DType::i64, {}});
  m.graph("f", [&](Inputs&) {
    count = count + 1;
    count = count * 2;
    return count;
  });
  const GraphPtr graph = m.trace("f", Extents{}).graph;
  ASSERT_EQ(graph->next().size(), 1u);
  EXPECT_EQ(graph->next()[0].state.name(), "count");
  EXPECT_EQ(graph->next()[0].value, graph->results()[0]);
}

TEST(Model, AStateKeepsItsNameWhateverNodesAreCalled) {
  Model m("m");
  const Param tanh_param = m.param("tanh", {2}, zeros()), x_param = m.param("x", {2}, zeros());
  m.graph("f", [&](Inputs& in) { return tanh(in("x", f32, {2})) + tanh_param * x_param; });
  const GraphPtr graph = m.trace("f", Extents{}).graph;
  ASSERT_EQ(graph->states().size(), 2u);
  EXPECT_EQ(graph->states()[0].name(), "tanh");
  EXPECT_EQ(graph->states()[1].name(), "x");
  EXPECT_EQ(graph->inputs()[0].name(), "x.1");
}

TEST(Model, AStateThatIsOnlyLookedAtIsNotListed) {
  Model m("m");
  const Param w = m.param("w", {2}, zeros());
  m.graph("f", [&](Inputs& in) {
    EXPECT_EQ(Value(w).shape(), Shape({2}));
    return in("x", f32, {2}) * 2;
  });
  EXPECT_TRUE(m.trace("f", Extents{}).graph->states().empty());
}

TEST(Model, ReadingIsNotWriting) {
  Model m("m");
  const Param w = m.param("w", {2}, zeros());
  m.graph("f", [&](Inputs&) { return w * 2; });
  EXPECT_TRUE(m.trace("f", Extents{}).graph->next().empty());
}

TEST(Model, AStateIsUsedOnlyWhileAGraphIsTraced) {
  Model m("m");
  const Param w = m.param("w", {2}, zeros());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)Value(w); }),
              HasSubstr("no graph is being traced"));
  std::optional<State> kept;
  m.graph("first", [&](Inputs& in) {
    kept.emplace(in("x", f32, {2}), "register");
    return *kept;
  });
  m.graph("second", [&](Inputs&) { return Value(*kept); });
  m.trace("first", Extents{});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("second", Extents{}); }),
              HasSubstr("state 'register' is used outside the graph that made it"));
}

TEST(Model, ANumberAssignedFillsTheState) {
  Model m("m");
  State s = m.state("s", f32_type({3}), constant(4));
  m.graph("f", [&](Inputs&) {
    s = 7;
    return s;
  });
  Session session(m, {.target = "reference"});
  session("f");
  EXPECT_EQ(session.state("s"), Literal::filled(f32_type({3}), 7));
}

TEST(Model, AGraphIsNotDeclaredWhileOneIsTraced) {
  Model m("m");
  std::optional<Model> other;
  m.graph("g", [&](Inputs& in) {
    m.graph("late", [](Inputs& late) { return late("x", f32, {2}); });
    return in("x", f32, {2});
  });
  m.graph("of another", [&](Inputs& in) {
    other.emplace("o").graph("late", [](Inputs& late) { return late("x", f32, {2}); });
    return in("x", f32, {2});
  });
  for (const char* graph : {"g", "of another"}) {
    EXPECT_THAT(
        error_of(ErrorKind::input, [&] { m.trace(graph, {{f32, {2}}}); }),
        HasSubstr(fmt::format("graph 'late' is declared in the function of graph '{}'", graph)));
  }
  EXPECT_THAT(m.graphs(), ElementsAre("g", "of another"));
}

TEST(Model, AStateWithoutAnInitializerIsRefusedWhereItIsDeclared) {
  Model m("m");
  const std::function<void()> declarations[] = {
      [&] { m.param("w", {2}, {}); }, [&] { m.param("w", {2}, nullptr); },
      [&] { m.state("s", {f32, {2}}, {}); }, [&] { Linear(m, "l", 2, 2, {.weights = {}}); }};
  for (const auto& declare : declarations)
    EXPECT_THAT(error_of(ErrorKind::input, declare),
                HasSubstr("has no initializer: wanted zeros()"));
  EXPECT_TRUE(m.states().empty());
}

TEST(Model, ResultsHaveNames) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value x = in("x", f32, {});
    return Results{{"double", x * 2}, {"half", x / 2}};
  });
  EXPECT_THAT(m.trace("f", Extents{}).result_names, ElementsAre("double", "half"));
  Session session(m, {.target = "reference"});
  const Outputs outputs = session("f", Tensor(Literal::of(3.0f)));
  EXPECT_EQ(outputs["half"].item<float>(), 1.5f);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { outputs["hald"]; }),
            "no result is called 'hald'; did you mean 'half'?");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { (void)outputs.scalar(); }),
            "scalar() is for one result of one element: found f32[], f32[]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { (void)Tensor(outputs); }),
            "one result is wanted: the graph has 2");
}

}  // namespace
}  // namespace graphc::core

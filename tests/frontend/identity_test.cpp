// SPDX-License-Identifier: Apache-2.0
// Whose a state is: identity is the object, not its name.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string trace_error(Model& model, const char* graph) {
  return error_of(ErrorKind::input, [&] { model.trace(graph, Extents{}); });
}

TEST(Identity, OfAnotherModelsStateIsNotTakenForOnesOwn) {
  Model student("student"), teacher("teacher");
  const Linear s(student, "out", 2, 2, constant(1)), t(teacher, "out", 2, 2, constant(5));
  State counted = teacher.state("count", {i64, {}});
  student.graph("train", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {3, 2}), loss = mse(s(x), stop_gradient(t(x)));
    minimize(loss, student.params(), Sgd{.rate = 0.1});
    return loss;
  });
  student.graph("minimize", Mode::training, [&](Inputs& in) {
    minimize(mean(s(in("x", f32, {3, 2}))), teacher.params(), Sgd{});
    return Results();
  });
  student.graph("count", [&](Inputs&) {
    counted += 1;
    return Results();
  });
  EXPECT_THAT(trace_error(student, "train"),
              AllOf(HasSubstr("parameter 'out.w' belongs to model 'teacher'"),
                    HasSubstr("graph 'train' is of model 'student'")));
  EXPECT_THAT(trace_error(student, "minimize"), HasSubstr("belongs to model 'teacher'"));
  EXPECT_THAT(trace_error(student, "count"), HasSubstr("state 'count' belongs to model 'teacher'"));
  EXPECT_EQ(student.states().size(), 2u);
}

TEST(Identity, OfAModelThatIsGoneIsNotThatOfTheNextOneAtItsPlace) {
  auto first = std::make_unique<Model>("first");
  const Param w = first->param("w", {2}, zeros());
  first.reset();
  for (int i = 0; i < 8; ++i) {
    Model next("next");
    next.param("w", {2}, zeros());
    next.graph("g", [&](Inputs&) { return Value(w); });
    EXPECT_THAT(trace_error(next, "g"), HasSubstr("belongs to model 'first'"));
  }
}

TEST(Identity, IsDeclaredOnceAndSharedByUsingTheObjectTwice) {
  Model m("m");
  const Linear first(m, "out", 2, 3);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { Linear(m, "out", 2, 3); }),
              AllOf(HasSubstr("parameter 'out.w' is declared already in model 'm'"),
                    HasSubstr("use the first one twice")));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.param("out.w", {3, 2}, zeros()); }),
              HasSubstr("is f32[3,2]: declared as parameter of f32[2,3] before"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.state("out.w", {f32, {2, 3}}); }),
              HasSubstr("state 'out.w' has the name of parameter 'out.w'"));
  m.state("n", {i64, {}});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.state("n", {i64, {}}); }),
              HasSubstr("state 'n' is declared already"));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] {
                         for (int i = 0; i < 2; ++i) Embedding(m, "one line", 4, 2);
                       }),
              HasSubstr("parameter 'one line' is declared already"));
}

TEST(Identity, OfWhatATraceDeclaresIsItsLine) {
  Model m("m");
  const auto count = [](Inputs& in) { return in.state("count", {i64, {}}); };
  m.graph("f", [&](Inputs& in) {
    const Linear inside(m, "inside", 2, 2);
    const Value x = in("x", f32, {"n", 2});
    State n = count(in);
    n += 1;
    return inside(x);
  });
  m.graph("same function", [&](Inputs& in) { return Value(count(in)); });
  m.graph("another line", [&](Inputs& in) { return Value(in.state("count", {i64, {}})); });
  m.graph("twice", [&](Inputs& in) { return Values{count(in), count(in)}; });
  for (int64_t n : {1, 2, 3}) EXPECT_NE(m.trace("f", {{"n", n}}).graph, nullptr);
  EXPECT_EQ(m.params().size(), 2u);
  EXPECT_NE(m.trace("same function", Extents{}).graph, nullptr);
  EXPECT_THAT(trace_error(m, "another line"), HasSubstr("state 'count' is declared already"));
  EXPECT_THAT(trace_error(m, "twice"), HasSubstr("state 'count' is declared already"));
}

TEST(Identity, OfAnOptimizersStatesIsNotAUsers) {
  for (const std::string name : {"adam.step", "w.mean"}) {
    Model before("before"), after("after");
    const Type type = name == "w.mean" ? Type{f32, {3}} : Type{i64, {}};
    for (Model* m : {&before, &after}) {
      const Param w = m->param("w", {3}, constant(1));
      if (m == &before) m->state(name, type);
      m->graph("g", Mode::training, [w](Inputs& in) {
        const Value loss = sum(in("x", f32, {3}) * w);
        minimize(loss, {w}, Adam{});
        return loss;
      });
    }
    EXPECT_THAT(trace_error(before, "g"), HasSubstr("'" + name + "' has the name of state"));
    after.trace("g", Extents{});
    EXPECT_THAT(error_of(ErrorKind::input, [&] { after.state(name, type); }),
                HasSubstr("'" + name + "' has the name of an optimizer's state"));
  }
}

TEST(Identity, OfWhatAFileDeclaresHasNoLine) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.graphc").string();
  Model m("m");
  const Linear linear(m, "out", 2, 3);
  m.graph("g", [&](Inputs& in) { return linear(in("x", f32, {1, 2})); });
  Session s(m, {.target = "reference"});
  save(s, {"g"}, {}, path);
  LoadedModel loaded(path, {.target = "reference"});
  EXPECT_THAT(
      error_of(ErrorKind::input, [&] { loaded.session().model().param("out.w", {2, 3}, zeros()); }),
      HasSubstr("parameter 'out.w' is declared already"));
}

TEST(Identity, WantsNames) {
  Model m("m");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.param("", {}, zeros()); }), HasSubstr("empty"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.state("", {i64, {}}); }), HasSubstr("empty"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.state("random.seed", {i64, {}}); }),
              HasSubstr("'random.seed' is the state of every model that draws"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.graph("", [](Inputs&) { return Results(); }); }),
              HasSubstr("empty"));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.graph("g", GraphFunction()); }),
              HasSubstr("graph 'g' has no function"));
  m.graph("input", [](Inputs& in) { return in("", f32, {2}); });
  m.graph("dim", [](Inputs& in) { return in("x", f32, {""}); });
  m.graph("extent", [](Inputs& in) { return in("x", f32, {-1}); });
  m.graph("result", [](Inputs& in) { return Results{{"", in("x", f32, {2})}}; });
  m.graph("results", [](Inputs& in) {
    const Value x = in("x", f32, {2});
    return Results{{"y", x}, {"y", x + 1}};
  });
  EXPECT_THAT(trace_error(m, "input"), HasSubstr("an input of graph 'input' has an empty name"));
  EXPECT_THAT(trace_error(m, "dim"), HasSubstr("found an empty name"));
  EXPECT_THAT(trace_error(m, "extent"), HasSubstr("found -1"));
  EXPECT_THAT(trace_error(m, "result"), HasSubstr("result 0 has an empty name"));
  EXPECT_THAT(trace_error(m, "results"), HasSubstr("two results are called 'y'"));
}

}  // namespace
}  // namespace graphc::core

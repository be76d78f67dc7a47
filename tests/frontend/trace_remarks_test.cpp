// SPDX-License-Identifier: Apache-2.0
// What is right and perhaps not meant: a remark at the user's line.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> remarks_of(const GraphFunction& function, Mode mode = Mode::evaluation) {
  Model m("m");
  m.graph("g", mode, function);
  std::vector<std::string> remarks;
  for (const Remark& remark : m.trace("g", Extents{{"steps", 5}, {"batch", 2}}).remarks) {
    EXPECT_TRUE(remark.where);
    remarks.push_back(remark.text);
  }
  return remarks;
}

Value sequence(Inputs& in) { return in("x", f32, {"steps", "batch"}); }
Value zeros_like(Value x) { return filled({x.shape()[1]}, 0); }

TEST(Remarks, OnLoopsThatCarryNothing) {
  EXPECT_THAT(remarks_of([](Inputs& in) {
                const Value x = sequence(in);
                Value h = zeros_like(x);  // a State was meant
                return scan(x, [&](Value t) { return h = tanh(t + h); });
              }),
              ElementsAre(HasSubstr("the loop carries nothing from step to step")));
  EXPECT_THAT(remarks_of([](Inputs& in) {
                const Value x = sequence(in);
                State h(zeros_like(x));
                return scan(x, [&](Value t) { return tanh(t + h); });
              }),
              ElementsAre(HasSubstr("the loop carries nothing"),
                          HasSubstr("state 'state' is never assigned")));
  EXPECT_THAT(remarks_of([](Inputs& in) {
                const Value x = sequence(in);
                State h(zeros_like(x));
                return scan(x, [&](Value t) { return h = tanh(t + h), h; });
              }),
              IsEmpty());
}

TEST(Remarks, OnTrainingThatKeepsNothing) {
  Model m("m");
  const Param w = m.param("w", {2}, constant(1));
  m.graph("forgot", Mode::training,
          [&](Inputs& in) { return sum(dropout(in("x", f32, {2}) * w, {.rate = 0.5})); });
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = sum(in("x", f32, {2}) * w);
    minimize(loss, {w}, Sgd{});
    return loss;
  });
  const auto remarks = m.trace("forgot", Extents{}).remarks;
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0].text, HasSubstr("graph 'forgot' is of Mode::training and gives no state"));
  EXPECT_THAT(m.trace("train", Extents{}).remarks, IsEmpty());
}

TEST(Remarks, OnGradientsOfWhatTheLossDoesNotDependOn) {
  Model m("m");
  const Param a = m.param("a", {2}, constant(1)), b = m.param("b", {2}, constant(1)),
              c = m.param("c", {2}, constant(1)), d = m.param("d", {2}, constant(1)),
              e = m.param("e", {2}, constant(1));
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {2});
    const Value steps = scan(x, [&](Value t) { return t * e; });  // by way of a loop's body
    const Value loss =
        sum(x * a) + sum(stop_gradient(x * b)) + sum(steps) + sum(cast(cast(x * c, i32), f32));
    minimize(loss, m.params(), Adam{});
    return loss;
  });
  const auto remarks = m.trace("train", Extents{}).remarks;
  ASSERT_EQ(remarks.size(), 2u);  // the loop carries nothing
  EXPECT_EQ(remarks[1].text, "the loss does not depend on b, c, d: the gradient is 0");
}

TEST(Remarks, AreErrorsForMeansOverNothing) {
  const auto refused = [](const std::function<Value(Value)>& of) {
    Model m("m");
    m.graph("g", [&](Inputs& in) { return of(in("x", f32, {"rows", 3})); });
    EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("g", Extents{{"rows", 0}}); }),
                HasSubstr("%x is f32[0,3]"));
    EXPECT_NE(m.trace("g", Extents{{"rows", 1}}).graph, nullptr);
  };
  refused([](Value x) { return mean(x); });
  refused([](Value x) { return mean(x, 0); });
  refused([](Value x) { return variance(x, {0, 1}); });
  refused([](Value x) { return mse(x, x); });
}

TEST(Remarks, OnStatesOfAListThatIsErased) {
  const auto texts = remarks_of([](Inputs& in) {
    std::vector<State> line;
    for (int i = 0; i < 3; ++i) line.emplace_back(filled({2}, i), "line." + std::to_string(i));
    for (State& each : line) each += 1;
    line.erase(line.begin());
    return Values{line[0], line[1], in("x", f32, {2})};
  });
  EXPECT_THAT(texts, ElementsAre(AllOf(HasSubstr("state 'line.2' was moved to 'line.1'"),
                                       HasSubstr("are not erased so"))));
  EXPECT_THAT(remarks_of([](Inputs& in) {
                State a(filled({2}, 1), "a"), b(filled({2}, 2), "b");
                std::swap(a, b);
                std::vector<State> line;
                for (int i = 0; i < 9; ++i) line.emplace_back(filled({2}, i));  // which grows
                for (State& each : line) each += 1;
                std::rotate(line.begin(), line.begin() + 2, line.end());
                return Values{a, b, line[3], in("x", f32, {2})};
              }),
              IsEmpty());
}

TEST(Remarks, AreAnnouncedOnceWithTheirLine) {
  Model m("m");
  const int line = __LINE__ + 2;
  m.graph("g",
          [](Inputs& in) { return scan(in("x", f32, {"steps"}), [](Value t) { return t + 1; }); });
  std::vector<std::string> told;
  Session s(m, {.target = "reference",
                .announce = [&](const std::string& text) { told.push_back(text); }});
  s("g", std::vector<float>{1, 2});
  s("g", std::vector<float>{1, 2, 3});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0], AllOf(HasSubstr("trace_remarks_test.cpp:" + std::to_string(line)),
                             HasSubstr("the loop carries nothing")));
  EXPECT_THAT(told[1], HasSubstr("compiled again"));
}

TEST(Remarks, OfASaveEveryWithoutEffectAndOfShortMemoryAreAnnounced) {
  Model model("states");
  const Param w = model.param("w", {64}, constant(0.5));
  model.graph("f", [&](Inputs& in) -> Results {
    const Value x = in("x", f32, {400, 64});
    State h(filled({64}, 0));
    const Value all =
        scan(x, [&](Value x_t) { return h = tanh(h * w + x_t); }, {.save_every = 500});
    return gradients(sum(square(all)), {w});
  });
  std::vector<std::string> lines;
  SessionOptions options{.target = "cpu"};
  options.announce = [&](const std::string& line) { lines.push_back(line); };
  options.compile.memory = 64 << 10;
  Session session(model, options);
  session("f", random_uniform({400, 64}, 1));
  EXPECT_THAT(lines, Contains(HasSubstr("save_every = 500 has no effect: the loop has 400 steps")));
  EXPECT_THAT(lines, Contains(HasSubstr("remark: memory: the step needs ")));
}

}  // namespace
}  // namespace graphc::core

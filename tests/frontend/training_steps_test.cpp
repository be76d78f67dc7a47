// SPDX-License-Identifier: Apache-2.0
// Which parameters a training step is of, and by which of their values its gradients are taken.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Value squares_of(const Param& w, Value x) { return sum(square(w * x)); }

/// A session that keeps what it is told.
Session untold(Model& m, std::vector<std::string>& told) {
  return Session(m, {.target = "reference",
                     .announce = [&](const std::string& line) { told.push_back(line); }});
}

TEST(TrainingSteps, OfOneParameterInOneGraphAreRefused) {
  // The second step would be down the gradient of the first.
  Model m("m");
  Param w = m.param("w", {1}, constant(2));
  m.graph("two", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {1});
    minimize(squares_of(w, x), {w}, Sgd{.rate = 0.1});
    const Value loss = squares_of(w, x);
    minimize(loss, {w}, Sgd{.rate = 0.1});
    return loss;
  });
  m.graph("one", Mode::training, [&](Inputs& in) {
    const Value loss = squares_of(w, in("x", f32, {1}));
    minimize(loss, {w}, Sgd{.rate = 0.1});
    return loss;
  });
  std::vector<std::string> told;
  Session s = untold(m, told);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("two", std::vector<float>{1}); }),
              HasSubstr("the loss reads the value that graph 'two' has given parameter 'w'"));
  s("one", std::vector<float>{1});
  s("one", std::vector<float>{1});
  EXPECT_NEAR(s.state("w").data<float>()[0], 2 * 0.8 * 0.8, 1e-6);
}

TEST(TrainingSteps, ThroughTheStepOfOthersAreRefused) {
  // A generator whose loss reads the critic that was just trained on it.
  Model m("m");
  Param critic = m.param("critic", {1}, constant(1)), generator = m.param("g", {1}, constant(3));
  const auto both = [&](Inputs& in, bool critic_first) {
    const Value x = in("x", f32, {1}), made = generator * x;
    const auto loss = [&] { return sum(critic * made); };
    const Value before = loss();
    minimize(loss(), {critic}, Sgd{.rate = 0.1});
    minimize(critic_first ? loss() : before, {generator}, Sgd{.rate = 0.1});
    return before;
  };
  m.graph("after", Mode::training, [&](Inputs& in) { return both(in, true); });
  m.graph("before", Mode::training, [&](Inputs& in) { return both(in, false); });
  std::vector<std::string> told;
  Session s = untold(m, told);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("after", std::vector<float>{1}); }),
              HasSubstr("the value that graph 'after' has given parameter 'critic'"));
  // Both by the values of before: d/d critic = g x, d/d g = critic x.
  s("before", std::vector<float>{1});
  EXPECT_NEAR(s.state("critic").data<float>()[0], 1 - 0.1 * 3, 1e-6);
  EXPECT_NEAR(s.state("g").data<float>()[0], 3 - 0.1 * 1, 1e-6);
}

TEST(TrainingSteps, ByAParameterThatWasClippedAreRefusedAndClippingBehindThemIsNot) {
  Model m("m");
  Param v = m.param("v", {1}, constant(5));
  m.graph("clip first", Mode::training, [&](Inputs& in) {
    v = clip(v, -1, 1);
    const Value loss = squares_of(v, in("x", f32, {1}));
    minimize(loss, {v}, Sgd{.rate = 0.1});
    return loss;
  });
  m.graph("by hand", Mode::training, [&](Inputs& in) {
    v = clip(v, -1, 1);
    const Value loss = squares_of(v, in("x", f32, {1}));
    v = v - 0.1 * gradients(loss, {v})[0];
    return loss;
  });
  m.graph("clip behind", Mode::training, [&](Inputs& in) {
    const Value loss = squares_of(v, in("x", f32, {1}));
    minimize(loss, {v}, Sgd{.rate = 0.01});
    v = clip(v, -1, 1);
    return loss;
  });
  std::vector<std::string> told;
  Session s = untold(m, told);
  for (const char* graph : {"clip first", "by hand"}) {
    EXPECT_THAT(error_of(ErrorKind::input, [&] { s(graph, std::vector<float>{1}); }),
                HasSubstr("has given parameter 'v'"));
  }
  s("clip behind", std::vector<float>{1});
  EXPECT_THAT(s.state("v").data<float>(), ElementsAre(1));
}

TEST(TrainingSteps, ByADerivativeThroughAnUpdateThatIsWrittenAsAValueAreTaken) {
  // Learning to learn: the inner step is a Value, and no parameter has it.
  Model m("m");
  Param w = m.param("w", {1}, constant(2));
  m.graph("meta", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {1});
    const Value inner = w - 0.1 * gradients(squares_of(w, x), {w})[0];
    const Value loss = sum(square(inner * x));
    minimize(loss, {w}, Sgd{.rate = 0.5});
    return loss;
  });
  std::vector<std::string> told;
  Session s = untold(m, told);
  s("meta", std::vector<float>{1});
  EXPECT_NEAR(s.state("w").data<float>()[0], 2 - 0.5 * 2 * 0.8 * 0.8 * 2, 1e-5);
}

TEST(TrainingSteps, OfAListThatIsTakenTooEarlyAreRefused) {
  // With other sizes the graph is traced again, and would train the head as well.
  Model m("m");
  Linear body(m, "body", 2, 2);
  m.graph("early", Mode::training, [&](Inputs& in) {
    const Params all = m.params();
    const Linear head(m, "head", 2, 1);
    const Value loss = mean(head(body(in("x", f32, {"b", 2}))));
    minimize(loss, all.without("body.b"), Sgd{});
    return loss;
  });
  m.graph("groups", Mode::training, [&](Inputs& in) {
    const Params all = m.params();
    const Linear head(m, "top", 2, 1);
    const Value loss = mean(head(body(in("x", f32, {"b", 2}))));
    minimize(loss, {{all, Sgd{}}, {Params{head.w}, Sgd{}}});
    return loss;
  });
  m.graph("complete", Mode::training, [&](Inputs& in) {
    const Params all = m.params();
    const Linear head(m, "other", 2, 1);
    const Value loss = mean(head(body(in("x", f32, {"b", 2}))));
    minimize(loss, {{all, Sgd{}}, {head.params(), Sgd{}}});
    return loss;
  });
  std::vector<std::string> told;
  Session s = untold(m, told);
  const Data x(std::vector<float>{1, 2}, {1, 2});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("early", x); }),
              AllOf(HasSubstr("'head.w'"), HasSubstr("declared after params() was called"),
                    HasSubstr("call params() when all are declared")));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { s("groups", x); }), HasSubstr("'top.b'"));
  s("complete", x);
  EXPECT_THAT(told, Not(Contains(HasSubstr("declared after"))));
}

TEST(TrainingSteps, OfAListFromBeforeTheLastLayerAreRemarkedOn) {
  Model m("m");
  Linear body(m, "body", 2, 2);
  const Params early = m.params();
  Linear head(m, "head", 2, 1), unused(m, "unused", 2, 1);
  const auto train = [&](const char* name, const Params& params) {
    m.graph(name, Mode::training, [&, params](Inputs& in) {
      const Value loss = mean(head(body(in("x", f32, {"b", 2}))));
      minimize(loss, params, Sgd{});
      return loss;
    });
  };
  train("early", early);
  train("layers", body.params());
  train("frozen", m.params().without({"head", "unused"}));
  std::vector<std::string> told;
  Session s = untold(m, told);
  const Data x(std::vector<float>{1, 2}, {1, 2});
  s("layers", x);
  s("frozen", x);
  EXPECT_THAT(told, IsEmpty());
  s("early", x);
  EXPECT_THAT(told, Contains(AllOf(HasSubstr("'head.w'"), HasSubstr("it is not trained"))));
  EXPECT_THAT(told, Not(Contains(HasSubstr("unused"))));
}

}  // namespace
}  // namespace graphc::core

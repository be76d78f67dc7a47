// SPDX-License-Identifier: Apache-2.0
// SessionOptions::check_finite: what it names, and that an error loses nothing.
#include <gmock/gmock.h>

#include <cmath>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr float kNanElement = std::numeric_limits<float>::quiet_NaN();

SessionOptions checked(const char* target = "cpu") {
  SessionOptions options{.target = target, .announce = [](const std::string&) {}};
  options.compile.threads = 1;
  options.check_finite = true;
  return options;
}

/// A state that is raised by x / y at every step, a loss of it, and the steps counted.
struct RaisedState {
  Model model{"raised"};
  int line = 0;

  RaisedState() {
    model.graph("train", [this](Inputs& in) {
      State w = in.state("w", {2}), steps = in.state("steps", Type{i32, {}});
      const Value x = in("x", f32, {2}), y = in("y", f32, {2});
      line = __LINE__ + 1;
      const Value ratio = x / y;
      w = w + ratio;
      steps = steps + 1;
      return sum(x);
    });
  }
};

using Pair = std::vector<float>;

TEST(CheckFinite, AnUpdateThatIsNotFiniteIsNamedAndUndoneBitForBit) {
  for (const char* target : {"cpu", "reference"}) {
    RaisedState raised;
    Session session(raised.model, checked(target));
    session("train", Pair{1, 2}, Pair{3, 7});
    const Literal before = session.state("w");
    try {
      session("train", Pair{1, 2}, Pair{3, 0});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::check);
      EXPECT_EQ(error.where().line, raised.line);
      EXPECT_THAT(error.message(),
                  AllOf(HasSubstr("= div %x, %y is the first value that is not"),
                        HasSubstr("1 inf of 2 elements"), HasSubstr("%x in [1, 2], %y in [0, 3]")));
      EXPECT_THAT(error.what(), HasSubstr("the new value of state 'w' is not finite"));
    }
    EXPECT_EQ(session.state("w"), before);
    EXPECT_EQ(session.state("steps").scalar(), 1);
    // And the session goes on as one that never failed.
    session("train", Pair{1, 2}, Pair{4, 4});
    RaisedState other;
    Session straight(other.model, checked(target));
    straight("train", Pair{1, 2}, Pair{3, 7});
    straight("train", Pair{1, 2}, Pair{4, 4});
    EXPECT_EQ(session.state("w"), straight.state("w"));
  }
}

TEST(CheckFinite, WithoutItNothingIsCheckedAndStatesStayWritten) {
  RaisedState raised;
  SessionOptions options = checked();
  options.check_finite = false;
  Session session(raised.model, options);
  session("train", Pair{1, 2}, Pair{3, 0});
  EXPECT_TRUE(std::isinf(session.state("w").element(1)));
}

TEST(CheckFinite, InputsAndStatesThatWereNotFiniteAreNamed) {
  RaisedState raised;
  Session session(raised.model, checked());
  EXPECT_EQ(error_of(ErrorKind::check, [&] { session("train", Pair{1, kNanElement}, Pair{3, 1}); }),
            "input %x is not finite: 1 NaN of 2 elements");
  session.set_state("w", Pair{kNanElement, 1});
  EXPECT_EQ(error_of(ErrorKind::check, [&] { session("train", Pair{1, 2}, Pair{3, 1}); }),
            "state 'w' was not finite before the step: 1 NaN of 2 elements");
}

TEST(CheckFinite, AGradientThatIsNotFiniteIsNamedByTheForwardLine) {
  for (const auto& [target, precision] :
       {std::pair{"cpu", Precision::f32}, std::pair{"cpu", Precision::bf16},
        std::pair{"reference", Precision::f64}}) {
    Model model("root");
    const Param w = model.param("w", {3}, zeros());
    int line = 0;
    model.graph("train", Mode::training, [&](Inputs& in) {
      const Value x = in("x", f32, {3});
      line = __LINE__ + 1;
      const Value root = sqrt(w);
      const Value loss = sum(root * x);
      minimize(loss, model.params(), Sgd{.rate = 0.1});
      return loss;
    });
    SessionOptions options = checked(target);
    options.compile.precision = precision;
    // In software: not every processor has products of bf16.
    if (options.compile.precision == Precision::bf16) options.compile.architecture = "native+tiles";
    Session session(model, options);
    try {
      session("train", std::vector<float>{1, 2, 3});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.where().line, line) << error.what();
      EXPECT_THAT(error.message(), HasSubstr("is the first value that is not finite: 3 inf of 3"));
    }
    EXPECT_EQ(session.state("w"), Literal::zeros({f32, {3}}).converted(session.state("w").dtype()));
  }
}

TEST(CheckFinite, TheStepOfALoopIsNamed) {
  Model model("loop");
  model.graph("run", [](Inputs& in) {
    const Value x = in("x", f32, {"steps", 2});
    State h(filled({2}, 0));
    scan(x, [&](Value x_t) {
      h = h + x_t / (x_t - 1);
      return h;
    });
    return h;
  });
  Session session(model, checked());
  Tensor x(Type{f32, {5, 2}});
  x.mutable_data<float>()[7] = 1;
  EXPECT_THAT(error_of(ErrorKind::check, [&] { session("run", x); }),
              AllOf(HasSubstr("= div "), HasSubstr("in step 3 of the loop %")));
}

TEST(CheckFinite, PaddingMayBeNaNAndIsNotBlamed) {
  Model model("padded");
  model.graph("run", [](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", 1});
    const Value lengths = in("lengths", i32, {"batch"});
    const Value y = in("y", f32, {"batch", 1});
    State h(filled({x.shape()[1], 1}, 0));
    scan(x,
         [&](Value x_t) {
           h = h + x_t;
           return h;
         },
         {.lengths = lengths});
    return h + log(y);
  });
  Session session(model, checked());
  Tensor x(Type{f32, {3, 2, 1}});
  x.mutable_data<float>()[5] = kNanElement;
  const std::vector<int32_t> lengths{3, 2};
  const auto y = [](float a, float b) {
    return Tensor(Literal(std::span<const float>(std::array{a, b}), {2, 1}));
  };
  session("run", x, lengths, y(1, 2));
  EXPECT_THAT(error_of(ErrorKind::check, [&] { session("run", x, lengths, y(1, -2)); }),
              AllOf(HasSubstr("= log %y"), HasSubstr("1 NaN of 2 elements")));
}

TEST(CheckFinite, WhatTheEvaluatorFindsFiniteHasNoOpToName) {
  // Steps take what is below the smallest normal number for 0; the evaluator does not.
  Model model("tiny");
  model.graph("run", [](Inputs& in) {
    const Value x = in("x", f32, {2});
    return x / x;
  });
  Session session(model, checked());
  try {
    session("run", Pair{1, 1e-40F});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("is not finite: 1 NaN of 2 elements"));
    EXPECT_THAT(error.what(), HasSubstr("no op can be named"));
  }
}

TEST(CheckFinite, WhatIsRoundedUpIsNotChecked) {
  Model model("rounded");
  model.graph("run", [](Inputs& in) { return 1 / in("x", f32, {"steps"}); });
  SessionOptions options = checked();
  options.round_up = {{"steps", to_multiple_of(4)}};
  Session session(model, options);
  EXPECT_EQ(session("run", Pair{1, 2, 4}).to_vector(), (Pair{1, 0.5, 0.25}));
  EXPECT_THAT(error_of(ErrorKind::check, [&] { session("run", Pair{1, 0, 4}); }), StartsWith("%"));
}

TEST(CheckFinite, AnotherErrorOfARunLeavesTheStatesToo) {
  Model model("table");
  const Param w = model.param("w", {4, 2}, glorot_uniform());
  model.graph("train", [=](Inputs& in) {
    State seen = in.state("seen", {2});
    const Value rows = gather(w, in("i", i32, {"n"}));
    seen = seen + sum(rows, {0});
    return sum(rows);
  });
  Session session(model, checked());
  session("train", std::vector<int32_t>{1, 2});
  const Literal before = session.state("seen");
  error_of(ErrorKind::input, [&] { session("train", std::vector<int32_t>{1, 9}); });
  EXPECT_EQ(session.state("seen"), before);
}

}  // namespace
}  // namespace graphc::core

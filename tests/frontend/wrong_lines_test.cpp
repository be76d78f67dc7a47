// SPDX-License-Identifier: Apache-2.0
// Lines of the user that are wrong, and where the error says that they are: there, and neither in a
// source of ours, nor in a header of the library, nor at the graph around them.
#include <gmock/gmock.h>

#include <cmath>
#include <optional>
#include <thread>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What is wrong at a line of the user, in a graph for training with x of f32[2,2].
struct WrongLine {
  int line;
  std::function<Value(Value x, Model& m)> write;
};
#define WRONG(...)                                                                             \
  WrongLine {                                                                                  \
    __LINE__, []([[maybe_unused]] Value x, [[maybe_unused]] Model& m) -> Value { __VA_ARGS__ } \
  }

const std::vector<WrongLine>& wrong_lines() {
  // clang-format off
  static const std::vector<WrongLine> all{
    WRONG(return reshape(x, {-2, 2});),
    WRONG(return x + filled({-1}, 0);),
    WRONG(return x + filled({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0);),
    WRONG(return x + cast(valid_steps(iota({2}), -1), f32);),
    WRONG(return Linear(m, "l", -2, 2)(x);),
    WRONG(return Lstm(m, "l", 2, -2)(x);),
    WRONG(return Embedding(m, "l", -2, 2)(x);),
    WRONG(return x + m.param("p", {2, -2}, zeros());),
    WRONG(return x + m.state("p", {f32, {-2}});),
    WRONG(Value none; return x + scan(none, [](Value t) { return t; });),
    WRONG(Value none; return scan({x, none}, [](Value t, Value) { return t; });),
    WRONG(Value none; return stack({x, none});),
    WRONG(Value none; return concat({none, x}, 0);),
    WRONG(Value none; return einsum("ij->ij", {none});),
    WRONG(Value none; return -none;),
    WRONG(Value none; return x - none;),
    WRONG(Value none; return clip(none, 0, 1);),
    WRONG(Value none; return reverse(none, 0) + pad(x, {0, 0}, {0, 0});),
    WRONG(Value none; return pad(none, {0, 0}, {0, 0}) + x;),
    WRONG(Value none; State h(x); h = none; return h;),
    WRONG(Value none; State h(x); h += none; return h;),
    WRONG(State h(iota({2})); h = 0.5; return cast(h, f32);),
    WRONG(Value none; State h(none); return h + x;),
    WRONG(return scan(x, [](Value) { return Value(); });),
    WRONG(return scan(x, [](Value t) { return Values{t, Value()}; })[0];),
    WRONG(Value none; return Lstm(m, "l", 2, 2)(none) + x;),
    WRONG(Value none; return Linear(m, "l", 2, 2)(none) + x;),
    WRONG(Value none; return mean_over_steps(none, iota({2})) + x;),
    WRONG(Value none; return cross_entropy(none, iota({2}), {.ignore = 0}) + x;),
    WRONG(State h(x[0]); auto copy = h; return scan(x, [&](Value t) { copy = t; return t; });),
    WRONG(Param w = m.param("w", {2}, zeros()); minimize(sum(x * w), {w}, Sgd{}); w = x; return w;),
    WRONG(Param w = m.param("w", {2}, zeros()); return scan(x, [&](Value t) { w = t; return t; });),
    WRONG(Momentum{}.update({m.param("w", {2}, zeros())}, {x}); return x;),
    WRONG(return Stacked<Lstm>(m, "l", 0, 2, 2)(x);),
    WRONG(return LayerNorm(m, "l", 3)(x);),
    WRONG(return x * m.param("w", {2}, uniform(-1));),
    WRONG(return x * m.param("w", {2}, normal(NAN));),
  };
  // clang-format on
  return all;
}
#undef WRONG

/// Traces a graph that writes one of them, and gives the error.
std::optional<Error> error_of_line(const WrongLine& wrong) {
  Model model("lines");
  model.graph("g", Mode::training,
              [&](Inputs& in) { return Results(wrong.write(in("x", f32, {2, 2}), model)); });
  try {
    model.trace("g", Extents{});
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

TEST(WrongLines, AnErrorIsAtTheLineThatIsWrong) {
  for (const WrongLine& wrong : wrong_lines()) {
    const std::optional<Error> error = error_of_line(wrong);
    ASSERT_TRUE(error) << "line " << wrong.line;
    EXPECT_EQ(error->kind(), ErrorKind::input) << error->what();
    EXPECT_EQ(error->where().line, wrong.line) << error->what();
    EXPECT_THAT(error->what(), HasSubstr("wrong_lines_test.cpp"));
  }
}

TEST(WrongLines, WhatALayerOrAnOptimizerAssignsIsAtTheCall) {
  int line = 0;
  const auto place = [&](const std::function<Value(Value, Model&, int&)>& write) {
    const std::optional<Error> error =
        error_of_line({0, [&](Value x, Model& m) { return write(x, m, line); }});
    EXPECT_TRUE(error);
    if (!error) return;
    EXPECT_THAT(error->what(), HasSubstr("wrong_lines_test.cpp"));
    EXPECT_EQ(error->where().line, line) << error->what();
  };
  place([](Value x, Model& m, int& at) {
    const Param w = m.param("w", {2}, zeros());
    return scan(x, [&](Value t) {
      const Value loss = sum(t * w);
      at = __LINE__ + 1;
      minimize(loss, {w}, Sgd{});
      return loss;
    });
  });
  place([](Value x, Model& m, int& at) {
    const Lstm lstm(m, "l", 2, 2);
    State h(filled({1, 2}, 0)), c(filled({1, 2}, 0));
    auto copy = c;
    at = __LINE__ + 1;
    return lstm.run(reshape(x, {2, 1, 2}), h, copy);
  });
  place([](Value x, Model& m, int& at) {
    const Lstm lstm(m, "l", 2, 2);
    Param h = m.param("h", {1, 2}, zeros());
    State c(filled({1, 2}, 0));
    at = __LINE__ + 1;
    return lstm.run(reshape(x, {2, 1, 2}), h, c);
  });
  place([](Value x, Model& m, int& at) {
    const Lstm lstm(m, "l", 2, 2);
    State h(filled({1, 2}, 0));
    at = __LINE__ + 1;
    return lstm.run(reshape(x, {2, 1, 2}), h, h);
  });
}

/// std::vector makes the layer: the line of its header says nothing.
TEST(WrongLines, ALineOfTheLibraryIsNotTold) {
  const std::optional<Error> twice = error_of_line({0, [](Value x, Model& m) {
                                                      std::vector<Linear> layers;
                                                      for (int i = 0; i < 2; ++i)
                                                        layers.emplace_back(m, "l", 2, 2);
                                                      return layers[0](x);
                                                    }});
  ASSERT_TRUE(twice);
  EXPECT_THAT(twice->what(), AllOf(HasSubstr("parameter 'l.w' is declared already"),
                                   HasSubstr("wrong_lines_test.cpp"), Not(HasSubstr("/c++/"))));
  Model model("outside");
  std::vector<Linear> layers;
  layers.reserve(2);
  layers.emplace_back(model, "l", 2, 2);
  try {
    layers.emplace_back(model, "l", 2, 2);
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("is declared already"), Not(HasSubstr("/c++/"))));
  }
  // Declared again when the graph is traced again, it is the same layer.
  Model traced("traced");
  traced.graph("g", [&](Inputs& in) {
    std::vector<Linear> several;
    several.emplace_back(traced, "l", 2, 2);
    return several[0](in("x", f32, {"n", 2}));
  });
  traced.trace("g", Extents{{"n", 1}});
  traced.trace("g", Extents{{"n", 3}});
}

TEST(WrongLines, AResultThatIsAbsentIsAtTheGraph) {
  Model model("m");
  const int line = __LINE__ + 1;
  model.graph("g", [](Inputs&) { return Value(); });
  try {
    model.trace("g", Extents{});
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, line) << error.what();
  }
}

TEST(WrongLines, AValueOfAnotherThreadIsNotSaidToBeGone) {
  Model model("m");
  std::string said;
  model.graph("g", [&](Inputs& in) {
    const Value x = in("x", f32, {2});
    std::thread([&] {
      try {
        (void)(x + 1);
      } catch (const Error& error) {
        said = error.what();
      }
    }).join();
    return x;
  });
  model.trace("g", Extents{});
  EXPECT_THAT(said, AllOf(HasSubstr("or is of another thread"), HasSubstr("wrong_lines_test.cpp")));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Initial values without kernels: which they are, that they have the evaluator's bits, and that
// nobody can tell when they were drawn.
#include "frontend/initial_draw.h"

#include <gmock/gmock.h>

#include <cfenv>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "frontend/graphc.h"
#include "frontend/initializers.h"
#include "ir/build.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;

std::optional<PlainDraw> plain(const Initializer& initializer, const Shape& shape,
                               int64_t key = 42) {
  return PlainDraw::of(*initial_graph(initializer, {DType::f32, shape}, {}).graph, key);
}

TEST(PlainDraw, HasTheEvaluatorsBits) {
  const Initializer shifted = [](Value key, const Type& type) {
    return 3 - 2 * (uniform(key, type.shape) + 0.1);
  };
  const Initializer bare = [](Value key, const Type& type) { return uniform(key, type.shape); };
  for (const Initializer& initializer :
       {uniform(0.1), glorot_uniform(), shifted, bare, constant(0.3), zeros()}) {
    // Less than a piece, several and a part of one, and enough for several threads.
    for (const Shape& shape : {Shape{1, 1}, Shape{7, 13}, Shape{61, 101}, Shape{1031, 1021}}) {
      const auto draw = plain(initializer, shape);
      ASSERT_TRUE(draw) << to_string(shape);
      const Literal wanted = initial_value(initializer, {DType::f32, shape}, 42, {});
      for (const int threads : {1, 2, 3})
        EXPECT_EQ(draw->value(threads), wanted) << to_string(shape) << ' ' << threads;
    }
  }
}

TEST(PlainDraw, LeavesTheRestToOthers) {
  const std::pair<const char*, Initializer> others[] = {
      {"normal", normal(1)},
      {"orthogonal", orthogonal()},
      {"parts", parts({zeros(), uniform(1)})},
      {"another key",
       [](Value key, const Type& type) { return uniform(fold_in(key, 1), type.shape) * 2; }},
      {"twice",
       [](Value key, const Type& type) {
         const Value u = uniform(key, type.shape);
         return u + u;
       }},
      {"by each column",
       [](Value key, const Type& type) {
         return uniform(key, type.shape) + uniform(key, {type.shape[1]});
       }},
      {"spread",
       [](Value key, const Type& type) {
         return uniform(key, {1, 1}) + splat(*key.node->graph, 1, type);
       }},
      {"divided", [](Value key, const Type& type) { return uniform(key, type.shape) / 3; }},
      {"another operation",
       [](Value key, const Type& type) { return tanh(uniform(key, type.shape)); }},
  };
  for (const auto& [name, initializer] : others) EXPECT_FALSE(plain(initializer, {4, 6})) << name;
}

/// `draws` as they are after some time, which grows until the last one was drawn.
std::unique_ptr<DrawsBeside> drawn_to_the_end(const DrawsBeside::Draws& draws) {
  for (std::chrono::milliseconds time{1};; time *= 2) {
    auto beside = std::make_unique<DrawsBeside>(draws);
    std::this_thread::sleep_for(time);
    beside->finish();
    if (beside->take("last") || time > std::chrono::seconds(10)) return beside;
  }
}

TEST(DrawsBeside, GiveEachValueOnceAndLeaveLargeOnes) {
  const int64_t large = DrawsBeside::kMostElements + 1;
  const auto draws = drawn_to_the_end({{"a", *plain(uniform(1), {3, 5})},
                                       {"large", *plain(zeros(), {large})},
                                       {"b", *plain(constant(2), {2, 2})},
                                       {"last", *plain(zeros(), {1})}});
  EXPECT_EQ(draws->take("a"), initial_value(uniform(1), {DType::f32, {3, 5}}, 42, {}));
  EXPECT_FALSE(draws->take("a"));
  EXPECT_FALSE(draws->take("large"));
  EXPECT_FALSE(draws->take("c"));
  EXPECT_EQ(draws->take("b"), Literal::filled({DType::f32, {2, 2}}, 2));
}

TEST(DrawsBeside, RoundAsANewProcessDoes) {
  // The nearest number of f32 is below it.
  const PlainDraw draw = *plain(constant(0.7), {2});
  const Literal wanted = draw.value(1);
  std::fesetround(FE_UPWARD);
  const Literal upwards = draw.value(1);
  const auto draws = drawn_to_the_end({{"a", draw}, {"last", draw}});
  std::fesetround(FE_TONEAREST);
  EXPECT_FALSE(upwards == wanted);
  EXPECT_EQ(draws->take("a"), wanted);
}

TEST(DrawsBeside, MayEndAtOnce) {
  const Literal wanted = initial_value(uniform(1), {DType::f32, {3, 5}}, 42, {});
  for (int i = 0; i < 100; ++i) {
    DrawsBeside draws({{"a", *plain(uniform(1), {3, 5})}});
    draws.finish();
    // The value, or none where the end came before the thread had begun.
    EXPECT_EQ(draws.take("a").value_or(wanted), wanted);
    EXPECT_FALSE(draws.take("a"));
  }
  DrawsBeside none({});
  none.finish();
}

/// States of every kind, asked for while their graph is compiled.
Literal drawn_by_session(const char* name, int threads, bool before) {
  Model model("m");
  Param w = model.param("w", {700, 401}, uniform(0.5)), v = model.param("v", {401, 3}, normal(1));
  Param b = model.param("b", {3}, constant(0.25));
  model.graph("f", [&](Inputs& in) { return matmul(matmul(in("x", f32, {2, 700}), w), v) + b; });
  SessionOptions options{.target = "cpu", .announce = [](const std::string&) {}};
  options.compile.threads = threads;
  options.seed = 9;
  Session session(model, options);
  if (!before) (void)session("f", random_uniform({2, 700}, 1));
  return session.state(name);
}

TEST(SessionCpu, StatesAreTheSameWhoeverDrawsThem) {
  for (const auto& [name, initializer, type] :
       {std::tuple{"w", uniform(0.5), Type{DType::f32, {700, 401}}},
        std::tuple{"v", normal(1), Type{DType::f32, {401, 3}}},
        std::tuple{"b", constant(0.25), Type{DType::f32, {3}}}}) {
    const Literal wanted = initial_value(initializer, type, initial_key(9, name), {});
    for (const int threads : {1, 2}) {
      for (const bool before : {false, true})
        EXPECT_EQ(drawn_by_session(name, threads, before), wanted) << name << threads << before;
    }
  }
}

TEST(SessionCpu, AGraphThatDoesNotCompileLeavesNoDrawnStates) {
  Model model("m");
  Param w = model.param("w", {300, 40}, uniform(0.5));
  model.graph("bad", [&](Inputs&) { return exp(cast(w, DType::f64)); });
  model.graph("good", [&](Inputs& in) { return matmul(in("x", f32, {2, 300}), w); });
  Session session(model, {.target = "cpu", .announce = [](const std::string&) {}});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)session("bad"); }),
              ::testing::HasSubstr("no code for exp of f64"));
  (void)session("good", random_uniform({2, 300}, 1));
  EXPECT_EQ(session.state("w"),
            initial_value(uniform(0.5), {DType::f32, {300, 40}}, initial_key(0, "w"), {}));
}

}  // namespace
}  // namespace graphc::core

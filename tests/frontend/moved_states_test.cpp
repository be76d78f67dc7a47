// SPDX-License-Identifier: Apache-2.0
// The standard library's ways to exchange values, with states in place of numbers.
#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

State number(double value) { return State(filled({}, value)); }

/// What a graph makes of 1, 2, 3, 4.
std::vector<float> results_of(const std::function<Value(Value)>& graph) {
  Model model("m");
  model.graph("f", [&](Inputs& in) { return graph(in("x", f32, {4})); });
  Session session(model, {.target = "reference"});
  const std::vector<float> x{1, 2, 3, 4};
  const Outputs found = session("f", Literal(std::span<const float>(x), {4}));
  const auto y = found[0].data<float>();
  return {y.begin(), y.end()};
}

TEST(MovedStates, AreExchangedBySwap) {
  EXPECT_THAT(results_of([](Value) {
                State a = number(10), b = number(1);
                std::swap(a, b);
                return a - b;
              }),
              ElementsAre(-9));
  EXPECT_THAT(results_of([](Value x) {
                State a = number(10), b = number(1);
                return scan(x, [&](Value t) {
                  std::swap(a, b);
                  a += t;
                  return a * 1;
                });
              }),
              ElementsAre(2, 12, 5, 16));
}

TEST(MovedStates, GiveWhatTheyWereToExchange) {
  EXPECT_THAT(results_of([](Value x) {
                State sum = number(10);
                return scan(x, [&](Value t) {
                  const Value before = std::exchange(sum, sum + t);
                  return before;
                });
              }),
              ElementsAre(10, 11, 13, 16));
}

TEST(MovedStates, AreADelayLineByRotate) {
  EXPECT_THAT(results_of([](Value x) {
                std::vector<State> line;  // which moves what it has as it grows
                for (int i = 1; i <= 3; ++i) line.push_back(number(i));
                return scan(x, [&](Value t) {
                  std::rotate(line.begin(), line.begin() + 1, line.end());
                  line.back() = t;
                  return line.front() * 1;
                });
              }),
              ElementsAre(2, 3, 1, 2));
  EXPECT_THAT(results_of([](Value x) {
                std::vector<State> line;
                for (int i = 1; i <= 3; ++i) line.push_back(number(i));
                return scan(x, [&](Value t) {
                  std::ranges::reverse(line);
                  line[1] += t;
                  return line[0] * 100 + line[1];
                });
              }),
              ElementsAre(303, 105, 308, 112));
}

TEST(MovedStates, AreHandlesUntilTheirSourceIsAssigned) {
  EXPECT_THAT(results_of([](Value x) {
                State source = number(10);
                State moved = std::move(source);
                State again = std::move(moved);
                again += 1;
                EXPECT_FALSE(again.is_copy());
                const Value both = source + again;  // 11 and 11
                source = number(5);
                EXPECT_TRUE(again.is_copy());
                EXPECT_FALSE(source.is_copy());
                return concat({reshape(both, {1}), reshape(again * 1, {1}),
                               reshape(source * 1, {1}), slice(x, 0, 0, 1)},
                              0);
              }),
              ElementsAre(22, 11, 5, 1));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [] {
                         results_of([](Value x) {
                           State source = number(10);
                           State moved = std::move(source);
                           source = number(5);
                           moved = number(1);
                           return x;
                         });
                       }),
              HasSubstr("this is a copy of state 'state'"));
}

TEST(MovedStates, OfParametersAreHandlesAtAnyTime) {
  Model model("m");
  Param w = model.param("w", {2}, zeros());
  model.graph("f", [&](Inputs&) {
    Params all;
    all.push_back(std::move(w));
    const Params both = all + all;
    w = filled({2}, 3);
    EXPECT_FALSE(both[0].is_copy());
    return both[0] + both[1];
  });
  Session session(model, {.target = "reference"});
  const Outputs found = session("f");
  EXPECT_THAT(found[0].data<float>(), ElementsAre(6, 6));
}

}  // namespace
}  // namespace graphc::core

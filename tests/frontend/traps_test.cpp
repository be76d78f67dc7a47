// SPDX-License-Identifier: Apache-2.0
// What looks right and is not: it is an error with the user's line, or does what it looks like.
#include <gmock/gmock.h>

#include <cfenv>
#include <future>
#include <thread>

#include "frontend/graphc.h"
#include "runtime/files/safetensors.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions reference() { return {.target = "reference"}; }

Tensor floats(const std::vector<float>& v, const Shape& shape) {
  return Literal(std::span<const float>(v), shape);
}

/// The message with the line of the error that `function` throws.
template <typename Function>
std::pair<std::string, int> where_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    return {error.message(), error.where().line};
  }
  ADD_FAILURE() << "wanted an error";
  return {};
}

TEST(Traps, OptimizersOfOneNameHaveTheSameParametersOrAreRefused) {
  const auto traced = [](const auto& update) {
    Model m("m");
    const Param a = m.param("a", {1}, constant(1)), b = m.param("b", {1}, constant(1));
    m.graph("train", Mode::training, [&](Inputs&) {
      update(sum(a * a) + sum(b * b), a, b);
      return Results();
    });
    m.trace("train", Extents{});
  };
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] {
                         traced([](Value loss, const Param& a, const Param& b) {
                           minimize(loss, {a}, Adam{});
                           minimize(loss, {b}, Adam{});
                         });
                       }),
              AllOf(HasSubstr("state 'adam.step' belongs to adam of a: adam of b wants it too"),
                    HasSubstr("another name")));
  EXPECT_THAT(error_of(ErrorKind::input,
                       [&] {
                         traced([](Value loss, const Param& a, const Param&) {
                           minimize(loss, {a}, Adam{});
                           minimize(loss, {a}, Rmsprop{});
                         });
                       }),
              HasSubstr("state 'a.square' belongs to adam of a: rmsprop of a wants it too"));
  traced([](Value loss, const Param& a, const Param& b) {
    minimize(loss, {a}, Adam{.name = "fast"});
    minimize(loss, {b}, Adam{.name = "slow"});
  });
  traced([](Value loss, const Param& a, const Param& b) {
    minimize(loss, {a, b}, Adam{});
    minimize(loss, {a, b}, Adam{});
  });
}

TEST(Traps, AnUpdateInAGraphForEvaluationIsRefused) {
  Model m("m");
  const Param a = m.param("a", {1}, constant(1));
  int line = 0;
  m.graph("forward", [&](Inputs&) {
    Value loss = sum(a * a);
    line = __LINE__ + 1;
    minimize(loss, {a}, Sgd{});
    return loss;
  });
  m.graph("update", [&](Inputs&) {
    Momentum{}.update({a}, {Value(a)});
    return Results();
  });
  const auto [message, found] = where_of([&] { m.trace("forward", Extents{}); });
  EXPECT_EQ(message,
            "minimize: graph 'forward' is for evaluation: write graph(\"forward\", "
            "Mode::training, ...)");
  EXPECT_EQ(found, line);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("update", Extents{}); }),
              HasSubstr("momentum: graph 'update' is for evaluation"));
}

TEST(Traps, AnInputOfTheSameNameIsRefused) {
  Model m("m");
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    Value x = in("x", f32, {2});
    line = __LINE__ + 1;
    return x + in("x", f32, {2});
  });
  const auto [message, found] = where_of([&] { m.trace("f", Extents{}); });
  EXPECT_EQ(message, "graph 'f' has an input 'x' already: use its value, or another name");
  EXPECT_EQ(found, line);
}

TEST(Traps, ANumberThatTheTypeHasNotIsRefusedWhereItStands) {
  Model m("m");
  int line = 0;
  m.graph("f", [&](Inputs& in) {
    Value k = in("k", i32, {3});
    line = __LINE__ + 1;
    return k * 0.5;
  });
  const auto [message, found] = where_of([&] { m.trace("f", Extents{}); });
  EXPECT_EQ(message, "mul: 0.5 is not a number of i32");
  EXPECT_EQ(found, line);
}

TEST(Traps, ACopyOfAStateIsItsValueAtThatPoint) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    State h(in("x", f32, {2}));
    auto before = h;
    h = h + 1;
    auto between = h;
    h = h * 10;
    const Value difference = h - before;
    h = before;
    return Values{before, between, difference, h};
  });
  m.graph("loop", [](Inputs& in) {
    State h(in("x", f32, {}));
    return scan(Steps(3), [&](Value) {
      auto before = h;
      h += 1;
      return std::pair<Value, Value>(before, h);
    })[0];
  });
  Session session(m, reference());
  const Outputs found = session("f", floats({1, 2}, {2}));
  EXPECT_THAT(found[0].data<float>(), ElementsAre(1, 2));
  EXPECT_THAT(found[1].data<float>(), ElementsAre(2, 3));
  EXPECT_THAT(found[2].data<float>(), ElementsAre(19, 28));
  EXPECT_THAT(found[3].data<float>(), ElementsAre(1, 2));
  EXPECT_THAT(Tensor(session("loop", floats({5}, {}))).data<float>(), ElementsAre(5, 6, 7));
}

TEST(Traps, ACopyOfAStateIsNotAssignedAndAHandleIs) {
  Model m("m");
  const State count = m.state("count", {DType::i64, {}});
  const auto by_value = [](State state) { state = state + 1; };
  int line = 0;
  m.graph("copy", [&](Inputs&) {
    auto copy = count;
    line = __LINE__ + 1;
    copy = copy + 1;
    return Value(count);
  });
  m.graph("handle", [&](Inputs&) {
    by_value(count.handle());
    return Value(count);
  });
  m.graph("argument", [&](Inputs&) {
    by_value(count);
    return Value(count);
  });
  const auto [message, found] = where_of([&] { m.trace("copy", Extents{}); });
  EXPECT_EQ(message,
            "this is a copy of state 'count', which is its value and cannot be assigned: take the "
            "state as State&, or another handle to it by handle()");
  EXPECT_EQ(found, line);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("argument", Extents{}); }),
              HasSubstr("a copy of state 'count'"));
  Session session(m, reference());
  session("handle");
  EXPECT_EQ(session.state("count").element(0), 1);
  const State outside = count;  // no graph is being traced: there is no value to copy
  EXPECT_FALSE(outside.is_copy());
}

TEST(Traps, ACopyThatOutlivesItsGraphIsRefused) {
  Model m("m");
  State count = m.state("count", {DType::i64, {}});
  std::optional<State> kept;
  m.graph("keep", [&](Inputs&) {
    kept.emplace(count);
    return Value(count);
  });
  m.graph("use", [&](Inputs&) { return Value(*kept); });
  m.trace("keep", Extents{});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { m.trace("use", Extents{}); }),
              HasSubstr("a copy of state 'count' is used in another graph than its own"));
}

TEST(Traps, ElementsOfAnotherTypeAndResultsThatAreNotThereHaveTheCallersLine) {
  Model m("m");
  m.graph("f", [](Inputs& in) {
    Value x = in("x", f32, {2});
    return Results{{"double", x * 2}, {"half", x / 2}};
  });
  Session session(m, reference());
  const Outputs found = session("f", floats({1, 2}, {2}));
  const Tensor y = found["half"];
  const auto expect = [](const std::pair<std::string, int>& error, const std::string& message,
                         int line) {
    EXPECT_THAT(error.first, HasSubstr(message));
    EXPECT_EQ(error.second, line);
  };
  expect(where_of([&] { (void)y.data<double>(); }),
         "f32[2] is read as another type: wanted data<float>()", __LINE__ - 1);
  expect(where_of([&] { (void)y.literal().data<int32_t>(); }), "wanted data<float>()", __LINE__);
  expect(where_of([&] { (void)y.item<float>(); }), "exactly one element: found f32[2]", __LINE__);
  expect(where_of([&] { (void)found[5]; }), "there is no result 5: the graph has 2", __LINE__);
  expect(where_of([&] { (void)found["hals"]; }), "no result is called 'hals'; did you mean 'half'",
         __LINE__ - 1);
  expect(where_of([&] { (void)found.scalar(); }), "one result of one element: found f32[2], f32[2]",
         __LINE__ - 1);
  EXPECT_EQ(found[-1].literal(), y.literal());
}

/// One parameter, trained by Adam.
struct ModelOfAdam {
  Model model{"trained"};
  Param w = model.param("w", {2}, constant(1));

  ModelOfAdam() {
    model.graph("train", Mode::training, [this](Inputs& in) {
      Value loss = sum(square(w - in("x", f32, {2})));
      minimize(loss, {w}, Adam{.rate = 0.1});
      return loss;
    });
  }
};

TEST(Traps, WhatIsLoadedBeforeAGraphIsTracedIsThereWhenItIs) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "all.safetensors").string();
  const std::string again = (folder.path() / "again.safetensors").string();
  const Tensor x = floats({3, -5}, {2});
  ModelOfAdam a, b, c;
  Session through(a.model, reference()), resumed(b.model, reference());
  for (int i = 0; i < 3; ++i) through("train", x);
  through.save(path, Saving::everything);
  const LoadReport report = resumed.load(path, Loading::partial);
  EXPECT_THAT(report.loaded, ElementsAre("w"));
  EXPECT_THAT(report.awaited, ElementsAre("adam.step", "w.mean", "w.square"));
  resumed.save(again, Saving::everything);
  Session copied(c.model, reference());
  copied.load(again, Loading::partial);
  for (Session* session : {&through, &resumed, &copied}) (*session)("train", x);
  for (const char* name : {"w", "w.mean", "w.square", "adam.step"}) {
    EXPECT_EQ(resumed.state(name), through.state(name)) << name;
    EXPECT_EQ(copied.state(name), through.state(name)) << name;
  }
  EXPECT_EQ(resumed.state("adam.step").element(0), 4);
}

TEST(Traps, WhatIsLoadedForAStateOfAnotherTypeIsRefusedWhenItIsDeclared) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "all.safetensors").string();
  ModelOfAdam trained;
  Session session(trained.model, reference());
  Literal w = session.state("w");
  write_safetensors(path, {{{"w", w}, {"w.mean", Literal::of(1.0f)}}, {}});
  try {
    session.load(path);
    FAIL() << "wanted an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Loading::partial keeps arrays for states"));
  }
  session.load(path, Loading::partial);
  EXPECT_THAT(
      error_of(ErrorKind::input, [&] { session("train", floats({1, 2}, {2})); }),
      AllOf(HasSubstr("all.safetensors"), HasSubstr("state 'w.mean' is f32[2]: found f32[]")));
}

TEST(Traps, TheCallersRoundingModeDrawsNoOtherWeights) {
  Model m("m");
  m.param("w", {500}, normal(0.7));
  const auto drawn = [&m](int mode) {
    std::fesetround(mode);
    Literal w = Session(m, {.target = "reference", .seed = 3}).state("w");
    std::fesetround(FE_TONEAREST);
    return w;
  };
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    EXPECT_TRUE(drawn(mode) == drawn(FE_TONEAREST)) << mode;
}

TEST(Traps, SessionsOfOneModelTraceInSeveralThreads) {
  Model m("m");
  Linear layer(m, "layer", 3, 2);
  m.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = mean(square(dropout(layer(in("x", f32, {"batch", 3})), {.keep = 0.5})));
    minimize(loss, m.params(), Adam{.rate = 0.1});
    return loss;
  });
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> losses(4);
  for (std::vector<float>& of_thread : losses) {
    threads.emplace_back([&m, &of_thread] {
      Session session(m, {.target = "reference", .announce = [](const std::string&) {}});
      for (int64_t batch = 1; batch <= 25; ++batch)
        of_thread.push_back(
            float(session("train", floats(std::vector<float>(size_t(3 * batch), 1), {batch, 3}))
                      .scalar()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : losses) EXPECT_EQ(of_thread, losses[0]);
}

TEST(Traps, WhatBecomesTheSameInputCompilesOnce) {
  Model m("m");
  m.graph("scaled", [](Inputs& in) {
    const Value x = in("x", f32, {"n"}), rate = in("rate", f32, {});
    return x * rate;
  });
  std::string announced;
  Session session(m, {.target = "reference",
                      .announce = [&](const std::string& text) { announced += text + "\n"; }});
  const std::vector<float> x{1, 2};
  const Literal wanted = Tensor(session("scaled", x, 3.0)).copy();
  EXPECT_EQ(Tensor(session("scaled", x, 3)).copy(), wanted);
  EXPECT_EQ(Tensor(session("scaled", x, 3.0f)).copy(), wanted);
  EXPECT_EQ(Tensor(session("scaled", std::vector<double>{1, 2}, Literal::of(3.0f))).copy(), wanted);
  EXPECT_EQ(Tensor(session("scaled", std::vector<int>{1, 2}, 3)).copy(), wanted);
  EXPECT_EQ(announced, "");
  session("scaled", std::vector<float>{1}, 3);
  EXPECT_EQ(announced, "compiled again: scaled: n 2 -> 1\n");
}

TEST(Traps, TwoThreadsInOneSessionAreRefused) {
  Model m("m");
  std::promise<void> inside, leave;
  m.graph("slow", [&](Inputs& in) {
    inside.set_value();
    leave.get_future().wait();
    return in("x", f32, {2});
  });
  m.graph("fast", [&](Inputs& in) { return in("x", f32, {2}); });
  Session session(m, reference());
  std::thread other([&] { session("slow", floats({1, 2}, {2})); });
  inside.get_future().wait();
  const std::string message =
      error_of(ErrorKind::input, [&] { session("fast", floats({1, 2}, {2})); });
  leave.set_value();
  other.join();
  EXPECT_THAT(message, HasSubstr("the session of model 'm' is used by two threads at once"));
  EXPECT_THAT(Tensor(session("fast", floats({1, 2}, {2}))).data<float>(), ElementsAre(1, 2));
}

template <typename Number>
concept DropsByNumber = requires(Value x, Number n) { dropout(x, n); };
template <typename Number>
concept LayerByNumber = requires(Number n) { Dropout(n); };
template <typename T>
concept Branches = requires(T condition) { condition ? 1 : 0; };
template <typename T>
concept IsOperand = std::is_convertible_v<T, Operand>;

// Ported as it stands, Dropout(0.1) would keep a tenth.
static_assert(!DropsByNumber<double> && !DropsByNumber<int> && DropsByNumber<DropoutShare>);
static_assert(!LayerByNumber<double> && !LayerByNumber<float> && LayerByNumber<DropoutShare>);
// `if (x < y)` would ask whether there is a value; `mask * (x == y)` whether both are one node.
static_assert(!Branches<Condition> && Branches<bool>);
static_assert(!IsOperand<bool> && IsOperand<double> && IsOperand<Value> && IsOperand<State>);

TEST(Traps, DropoutSaysHowMuchItDrops) {
  Model m("m");
  m.graph("f", Mode::training, [](Inputs& in) {
    Value x = in("x", f32, {10000});
    return Values{dropout(x, {.rate = 0.1}), Dropout({.keep = 0.9})(x), Dropout(DropoutShare{})(x)};
  });
  Session session(m, reference());
  const Outputs found = session("f", floats(std::vector<float>(10000, 1), {10000}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(double(std::ranges::count(found[i].data<float>(), 0.0f)), 1000, 150);
    EXPECT_FLOAT_EQ(std::ranges::max(found[i].data<float>()), 1 / 0.9f);
  }
  EXPECT_EQ(std::ranges::count(found[2].data<float>(), 1.0f), 10000);
  for (const auto& [share, text] :
       {std::pair(DropoutShare{.rate = 1}, "dropout: rate is in [0, 1): found 1"),
        {DropoutShare{.rate = 0.1, .keep = 0.9},
         "dropout: one of rate and keep is given: found 0.1 and 0.9"}}) {
    EXPECT_EQ(error_of(ErrorKind::input, [&, s = share] { (void)s.kept({}); }), text);
  }
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Shared graphs: a compiled graph in several threads at once.
#include "frontend/shared_graph.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <thread>

#include "frontend/graphc.h"
#include "models/random_inputs.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

/// A GRU that goes on where the call before ended, and a graph that trains it.
struct Listener {
  Model model{"listener"};
  Gru gru{model, "gru", 12, 40};
  Linear out{model, "out", 40, 5};

  Listener() {
    model.graph("listen", [this](Inputs& in) {
      const Value x = in("x", f32, {"steps", "batch", 12});
      State h = in.state("h", {x.shape()[1], 40});
      const Value y = gru.run(x, h, {.lengths = in.length("steps")});
      return Results{{"y", softmax(out(y))}, {"h", h}};
    });
    model.graph("train", Mode::training, [this](Inputs& in) {
      const Value x = in("x", f32, {6, 2, 12}), y = in("y", i32, {6, 2});
      const Value loss = mean(cross_entropy(out(gru(x)), y));
      minimize(loss, model.params(), Adam{.rate = 0.05});
      return loss;
    });
  }
};

const Type kSound{DType::f32, {3, 2, 12}};

Tensor sound(int64_t i) { return random_uniform(kSound.shape, uint64_t(100 + i)); }

/// What `count` calls in a row give, as copies.
template <typename Call>
std::vector<Literal> results(int64_t first, int64_t count, Call&& call) {
  std::vector<Literal> all;
  for (int64_t i = 0; i < count; ++i) {
    const Outputs outputs = call(sound(first + i));
    all.push_back(outputs["y"].copy());
  }
  return all;
}

class SharedGraphs : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, SharedGraphs, ::testing::Values("cpu", "reference"));

TEST_P(SharedGraphs, GiveWhatTheSessionGives) {
  Listener listener;
  Session session(listener.model, {.target = GetParam(), .seed = 1});
  const SharedGraph shared(session, "listen", {kSound});
  Runner first = shared.runner(), second = shared.runner();
  const auto wanted = results(0, 4, [&](const Tensor& x) { return session("listen", x); });
  EXPECT_EQ(results(0, 4, first), wanted);
  EXPECT_EQ(first.state("h"), session.state("h"));
  // What one carries is no other's.
  EXPECT_EQ(results(0, 4, second), wanted);
  second.reset();
  EXPECT_EQ(results(0, 4, second), wanted);
  EXPECT_NE(results(0, 4, second), wanted);
  second.set_state("h", Literal::zeros(second.state("h").type()));
  EXPECT_EQ(results(0, 4, second), wanted);
}

TEST_P(SharedGraphs, RunInSeveralThreadsWhileTheSessionTrains) {
  const bool slow = std::string_view(GetParam()) == "reference";
  const int64_t threads = slow ? 2 : 4, runs = slow ? 3 : 200;
  Listener listener;
  Session session(listener.model, {.target = GetParam(), .seed = 1});
  const SharedGraph shared(session, "listen", {kSound});
  std::vector<std::vector<Literal>> wanted, found(static_cast<size_t>(threads));
  for (int64_t i = 0; i < threads; ++i) {
    Runner runner = shared.runner();
    wanted.push_back(results(1000 * i, runs, runner));
  }
  std::vector<std::thread> serving;
  for (int64_t i = 0; i < threads; ++i) {
    serving.emplace_back([&, i] {
      Runner runner = shared.runner();
      found[size_t(i)] = results(1000 * i, runs, runner);
    });
  }
  for (int64_t i = 0; i < runs; ++i)
    session("train", random_uniform({6, 2, 12}, 7), random_integers({6, 2}, 5, 7));
  for (std::thread& thread : serving) thread.join();
  for (int64_t i = 0; i < threads; ++i) EXPECT_EQ(found[size_t(i)], wanted[size_t(i)]);
  // One made now has what was learnt.
  const SharedGraph later(session, "listen", {kSound});
  Runner runner = later.runner();
  EXPECT_NE(results(0, 1, runner)[0], wanted[0][0]);
}

TEST(SessionsOfOneThread, RunSideBySide) {
  std::vector<double> losses(4, 0);
  const auto train = [&](size_t i) {
    Listener listener;
    Session session(listener.model, {.target = "cpu", .compile = {.threads = 1}, .seed = i % 2});
    for (int run = 0; run < 50; ++run)
      losses[i] =
          session("train", random_uniform({6, 2, 12}, 7), random_integers({6, 2}, 5, 7)).scalar();
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) threads.emplace_back(train, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(losses[0], losses[2]);
  EXPECT_EQ(losses[1], losses[3]);
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_LT(losses[0], 1);
}

TEST(SharedGraphOfTheUser, LeavesEachThreadItsRoundingMode) {
  Listener listener;
  Session session(listener.model, {.target = "cpu"});
  const SharedGraph shared(session, "listen", {kSound});
  constexpr std::array kModes{FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::array<std::vector<Literal>, kModes.size()> found;
  std::array<int, kModes.size()> left{};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kModes.size(); ++i) {
    threads.emplace_back([&, i] {
      Runner runner = shared.runner();
      std::fesetround(kModes[i]);
      found[i] = results(0, 20, runner);
      left[i] = std::fegetround();
      std::fesetround(FE_TONEAREST);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(left, kModes);
  for (const auto& each : found) EXPECT_EQ(each, found[0]);
}

/// Graphs that are right for what callers bring, and for which zeros are an error: an index or a
/// label below 0 (tests go over all three), and what a state counts.
TEST_P(SharedGraphs, RunOnNothingButWhatTheCallersBring) {
  Model model("from one");
  const Param table = model.param("table", {3, 4}, uniform(0.5));
  State calls = model.state("calls", {f32, {}}, constant(0));
  const auto labels = [](Inputs& in) { return in("y", i32, {2}) - 1; };
  model.graph("labels", [&](Inputs& in) {
    const Value x = in("x", f32, {2, 4});
    return cross_entropy(x, labels(in));
  });
  model.graph("indices", [&](Inputs& in) {
    const Value x = in("x", f32, {2, 4});
    return x * gather(table, labels(in));
  });
  model.graph("counted", [&](Inputs& in) {
    calls = calls + 1;
    const Value x = in("x", f32, {2, 4});
    return x * calls + gather(table, labels(in));
  });
  Session session(model, {.target = GetParam(), .seed = 3});
  const Tensor x = random_uniform({2, 4}, 5);
  const Data y(std::vector<int>{1, 3}, {2}), zeros(std::vector<int>{0, 1}, {2});
  for (const char* graph : {"labels", "indices", "counted"}) {
    const SharedGraph shared(session, graph, {x.type(), {i32, {2}}});
    Runner runner = shared.runner(), second = shared.runner();
    const Literal wanted = Tensor(session(graph, x, y)).copy();
    EXPECT_EQ(Tensor(runner(x, y)).copy(), wanted) << graph;
    EXPECT_EQ(Tensor(second(x, y)).copy(), wanted) << graph;
    EXPECT_THAT(error_of(ErrorKind::input, [&] { runner(x, zeros); }), HasSubstr("-1")) << graph;
  }
  EXPECT_EQ(session.state("calls").element(0), 1);
}

TEST(SharedGraphOfTheUser, TakesWhatASessionTakes) {
  Model model("doubled");
  model.graph("double", [](Inputs& in) { return in("x", f32, {"n"}) * 2.0; });
  Session session(model, {.target = "cpu"});
  const SharedGraph shared(session, "double", {{f32, {2}}});
  Runner runner = shared.runner();
  const Literal wanted = Tensor(session("double", std::vector<float>{1, 2})).copy();
  EXPECT_EQ(Tensor(runner(std::vector<float>{1, 2})).copy(), wanted);
  EXPECT_EQ(Tensor(runner(std::vector<double>{1, 2})).copy(), wanted);
  EXPECT_EQ(Tensor(runner(Data(std::vector<int>{1, 2}, {2}))).copy(), wanted);
  EXPECT_EQ(error_of(ErrorKind::input, [&] { runner(std::vector<float>{1, 2, 3}); }),
            "graph 'double' was compiled for f32[2]: found f32[3]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { runner(1.0); }),
            "graph 'double' was compiled for f32[2]: found f64[]");
}

TEST(SharedGraphOfTheUser, ARunnerOfTwoThreadsSaysSo) {
  Listener listener;
  Session session(listener.model, {.target = "reference"});
  const SharedGraph shared(session, "listen", {kSound});
  Runner runner = shared.runner();
  const Tensor x = random_uniform({3, 2, 12}, 1);
  std::atomic<bool> stop{false};
  const auto until_refused = [&] {
    std::string message;
    while (!stop && message.empty()) {
      try {
        runner(x);
      } catch (const Error& error) {
        message = error.message();
      }
    }
    stop = true;
    return message;
  };
  std::string of_other;
  std::thread other([&] { of_other = until_refused(); });
  const std::string mine = until_refused();
  other.join();
  EXPECT_THAT(mine + of_other,
              HasSubstr("a runner of graph 'listen' is used by two threads at once"));
}

TEST(SharedGraphOfTheUser, ErrorsSayWhatIsWanted) {
  Listener listener;
  Session session(listener.model, {.target = "cpu"});
  const SharedGraph shared(session, "listen", {kSound});
  Runner runner = shared.runner();
  EXPECT_EQ(error_of(ErrorKind::input, [&] { runner(random_uniform({4, 2, 12}, 1)); }),
            "graph 'listen' was compiled for f32[3,2,12]: found f32[4,2,12]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { runner.state("gru.w"); }),
            "graph 'listen' writes no state 'gru.w'");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { runner.set_state("h", Literal::of(1.0f)); }),
            "state 'h' is f32[2,40]: found f32[]");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { SharedGraph(session, "lissten", {kSound}); }),
              HasSubstr("has no graph 'lissten'"));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Runs in parts, where there is no GPU: the numbers of ordinary runs, and what is refused.
#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

struct PreparedCounter {
  Model model{"counter"};

  PreparedCounter() {
    model.graph("add", [](Inputs& in) {
      State total = in.state("total", {2});
      const Value x = in("x", f32, {"batch", 2});
      total = total + sum(x, 0);
      return Results{{"total", Value(total)}, {"x", x * 2}};
    });
  }
};

std::vector<float> prepared_result(PreparedRun run, const char* result) {
  return run.wait()[result].to_vector();
}

TEST(PreparedRunsCpu, AreRunsWithTheInputsOfTheirPreparation) {
  PreparedCounter counter;
  Session session(counter.model, {.target = "cpu"});
  std::vector<float> x{1, 2};
  Tensor shared = Literal::filled({DType::f32, {1, 2}}, 5);
  PreparedRun run = session.prepare("add", {Data(x, {1, 2})});
  x = {100, 100};
  EXPECT_EQ(session.state("total").to_vector(), (std::vector<float>{0, 0})) << "it has not begun";
  session.run("add", {Data(std::vector<float>{10, 20}, {1, 2})});
  EXPECT_THAT(prepared_result(run, "total"), ElementsAre(11, 22))
      << "states are those of its start";
  EXPECT_THAT(prepared_result(run, "x"), ElementsAre(2, 4)) << "it has run once";
  EXPECT_THAT(session.state("total").to_vector(), ElementsAre(11, 22));
  PreparedRun next = session.prepare_named("add", {{"x", shared}});
  std::fill_n(reinterpret_cast<float*>(shared.address()), 2, -1.f);
  EXPECT_THAT(prepared_result(next, "total"), ElementsAre(16, 27));
}

TEST(PreparedRunsCpu, ResultsOutliveTheSession) {
  PreparedCounter counter;
  PreparedRun ended, begun, prepared;
  {
    Session session(counter.model, {.target = "cpu"});
    const std::vector<Data> x{Data(std::vector<float>{1, 2}, {1, 2})};
    ended = session.prepare("add", x);
    ended.wait();
    prepared = session.prepare("add", x);
  }
  EXPECT_THAT(prepared_result(ended, "total"), ElementsAre(1, 2));
  const auto gone = HasSubstr("graph 'add': the session of this prepared run is gone");
  EXPECT_THAT(error_of(ErrorKind::input, [&] { prepared.start(); }), gone);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { prepared.wait(); }), gone);
}

TEST(PreparedRunsCpu, RefuseWhatMakesNoSense) {
  PreparedCounter counter;
  Session session(counter.model, {.target = "cpu"});
  const std::vector<Data> x{Data(std::vector<float>{1, 2}, {1, 2})};
  const auto says = [](auto function) { return error_of(ErrorKind::input, function); };
  PreparedRun none;
  EXPECT_FALSE(none);
  EXPECT_THAT(says([&] { none.start(); }), HasSubstr("without a run"));
  EXPECT_THAT(says([&] { none.wait(); }), HasSubstr("without a run"));
  PreparedRun first = session.prepare("add", x), second = session.prepare("add", x);
  EXPECT_TRUE(first);
  EXPECT_THAT(says([&] { first.start(); }), HasSubstr("another run has been prepared"));
  EXPECT_THAT(says([&] { first.wait(); }), HasSubstr("another run has been prepared"));
  second.start();
  EXPECT_THAT(says([&] { second.start(); }), HasSubstr("has started before"));
  EXPECT_THAT(prepared_result(second, "total"), ElementsAre(1, 2));
  EXPECT_THAT(says([&] { session.prepare("add", {Data(std::vector<float>{1, 2})}); }),
              HasSubstr("input 'x' is f32[batch,2]"));
  EXPECT_THAT(says([&] { session.prepare("subtract", x); }), HasSubstr("subtract"));
}

TEST(PreparedRunsCpu, ArePaddedAndCut) {
  PreparedCounter counter;
  Session session(counter.model, {.target = "cpu", .round_up = {{"batch", to_multiple_of(4)}}});
  PreparedRun run = session.prepare("add", {Data(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2})});
  EXPECT_EQ(run.wait()["x"].shape(), Shape({3, 2}));
  EXPECT_THAT(prepared_result(run, "total"), ElementsAre(9, 12));
}

TEST(PreparedRunsCpu, AreCheckedForFiniteNumbers) {
  PreparedCounter counter;
  Session session(counter.model, {.target = "cpu", .check_finite = true});
  const float infinity = std::numeric_limits<float>::infinity();
  PreparedRun run = session.prepare("add", {Data(std::vector<float>{1, infinity}, {1, 2})});
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_of(ErrorKind::check, [&] { run.wait(); }), HasSubstr("inf"));
  EXPECT_THAT(session.state("total").to_vector(), ElementsAre(0, 0));
}

/// The losses of a training, and what was called in which order.
std::pair<std::vector<double>, std::string> trained_ahead(bool prefetch, int64_t stop_after,
                                                          int64_t fail_at) {
  Model model("line");
  const Param w = model.param("w", {1}, constant(0));
  model.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = mean(square(in("x", f32, {"batch", 1}) * w - 1));
    minimize(loss, model.params(), Sgd{.rate = 0.1});
    return loss;
  });
  Session session(model, {.target = "cpu"});
  std::vector<double> losses;
  std::string calls;
  FitOptions options{
      .epochs = 2, .samples = 6, .batch = 2, .prefetch = prefetch, .progress = false};
  int64_t asked = 0;
  options.inputs = [&](std::span<const int64_t> samples) -> std::vector<Data> {
    calls += 'i';
    if (++asked == fail_at) throw input_error({}, "no more samples");
    return {Data(std::vector<float>{1 + 0.1f * float(samples[0]), 1 + 0.1f * float(samples[1])},
                 {2, 1})};
  };
  options.after_step = [&](const FitStep& step) {
    calls += 's';
    losses.push_back(step.loss);
  };
  options.stop = [&] { return int64_t(losses.size()) == stop_after; };
  try {
    fit(session, options);
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("no more samples"));
    calls += 'e';
  }
  losses.push_back(session.state("w").element(0));
  return {losses, calls};
}

TEST(PreparedRunsCpu, FitAsksForInputsAhead) {
  const auto [wanted, in_turn] = trained_ahead(false, 0, 0);
  const auto [found, ahead] = trained_ahead(true, 0, 0);
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(in_turn, "isisisisisis");
  EXPECT_EQ(ahead, "iisissiisiss") << "the next epoch may depend on what follows this one";
  EXPECT_EQ(trained_ahead(true, 2, 0).first, trained_ahead(false, 2, 0).first);
  // The step before is complete when the inputs of the next one fail.
  EXPECT_EQ(trained_ahead(true, 0, 3).first, trained_ahead(false, 0, 3).first);
  EXPECT_EQ(trained_ahead(true, 0, 3).second, "iisise");
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Runs in parts: inputs that are brought to a GPU while it works on the run before. The mock driver
// does work only when somebody waits for it, so a wait that is missing shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "frontend/graphc.h"
#include "ir/text.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kAheadCounts = R"(
  graph @counts(%x: f32[4]) state (%s: f32[4]) {
    %t = add %s, %x
    next %s = %t
    return mul(%t, 2), tanh(%x)
  })";

class AheadOnDevice : public ::testing::Test {
 protected:
  cuda::testing::MockDriver driver_;
};

Tensor four_of(float number) { return Literal::filled({DType::f32, {4}}, number); }

void set_four(Tensor& tensor, float number) {
  for (int i = 0; i < 4; ++i) reinterpret_cast<float*>(tensor.address())[i] = number;
}

TEST_F(AheadOnDevice, InputsAreCopiedBesideAStep) {
  CompileReport report;
  const auto counts = compile(parse_graph(kAheadCounts), targets::cuda, {}, report);
  StoredState state(four_of(0));
  StoredState* const states[] = {&state};
  std::vector<Tensor> results{four_of(0), four_of(0)};
  Tensor x({DType::f32, {4}});
  const cuda::testing::LateWork late;
  set_four(x, 1);
  counts->bring(std::vector{x});
  set_four(x, -50);  // what was brought is a copy
  for (int step = 1; step <= 4; ++step) {
    counts->launch(states);
    // Beside the step, which has done nothing so far; the second replaces the first.
    set_four(x, -7);
    if (step == 2) counts->bring(std::vector{x});
    set_four(x, float(step + 1));
    if (step < 4) counts->bring(std::vector{x});
    set_four(x, -50);
    counts->finish(results);
    EXPECT_EQ(results[0].to_vector(), std::vector<float>(4, float(step * (step + 1)))) << step;
    EXPECT_EQ(results[1].to_vector()[3], std::tanh(float(step))) << step;
  }
  EXPECT_EQ(state.home().to_vector(), std::vector<float>(4, 10));
  // A run from the host's memory uses the same pinned memory.
  set_four(x, 5);
  counts->bring(std::vector{x});
  counts->run(std::vector{four_of(100)}, states, results);
  EXPECT_EQ(results[0].to_vector(), std::vector<float>(4, 220));
  counts->launch(states);
  counts->finish(results);
  EXPECT_EQ(results[0].to_vector(), std::vector<float>(4, 230));
}

TEST_F(AheadOnDevice, OneThatNobodyWaitsForEnds) {
  CompileReport report;
  StoredState state(four_of(0));
  StoredState* const states[] = {&state};
  {
    const cuda::testing::LateWork late;
    const auto counts = compile(parse_graph(kAheadCounts), targets::cuda, {}, report);
    counts->bring(std::vector{four_of(3)});
    counts->launch(states);
  }
  EXPECT_EQ(state.home().to_vector(), std::vector<float>(4, 3));
}

SessionOptions ahead_on_gpu() {
  return {.target = "cuda", .seed = 7, .announce = [](const std::string&) {}};
}

/// A table whose rows are trained; `words` outside it are an error.
struct AheadWords {
  Model model{"words"};
  Param table = model.param("table", {5, 4}, glorot_uniform());

  AheadWords() {
    model.graph("train", Mode::training, [this](Inputs& in) {
      const Value rows = gather(table, in("words", i32, {"batch"}));
      const Value loss = mean(square(rows - in("target", f32, {"batch", 4})));
      minimize(loss, model.params(), Sgd{.rate = 0.5});
      return Results{{"loss", loss}, {"rows", rows}};
    });
    model.graph("sum", [this](Inputs&) { return sum(Value(table)); });
  }
};

std::vector<Data> words_of(int step) {
  return {std::vector<int32_t>{step % 5, (step + 2) % 5, 4},
          Data(std::vector<float>(12, 0.5f * float(step)), {3, 4})};
}

TEST_F(AheadOnDevice, SessionsGiveTheNumbersOfRunsInAnyOrder) {
  AheadWords model;
  Session there(model.model, ahead_on_gpu()), here(model.model, ahead_on_gpu());
  std::vector<std::vector<float>> wanted;
  for (int step = 0; step < 6; ++step)
    wanted.push_back(here.run("train", words_of(step))["rows"].to_vector());
  const cuda::testing::LateWork late;
  std::vector<PreparedRun> runs;
  PreparedRun next = there.prepare("train", words_of(0));
  for (int step = 0; step < 5; ++step) {
    runs.push_back(next);
    runs.back().start();
    next = there.prepare("train", words_of(step + 1));
    if (step == 2) {
      EXPECT_EQ(runs[0].wait()["rows"].to_vector(), wanted[0]);
    }
  }
  // A call that is not prepared waits for the run that has started.
  const double sum = there("sum").scalar();
  for (int step = 0; step < 5; ++step)
    EXPECT_EQ(runs[size_t(step)].wait()["rows"].to_vector(), wanted[size_t(step)]) << step;
  EXPECT_EQ(next.wait()["rows"].to_vector(), wanted[5]);
  EXPECT_NE(there("sum").scalar(), sum);
  EXPECT_EQ(there("sum").scalar(), here("sum").scalar());
}

TEST_F(AheadOnDevice, WhatGoesWrongIsHeardOnce) {
  AheadWords model;
  Session session(model.model, ahead_on_gpu());
  const std::vector<Data> wrong{std::vector<int32_t>{0, 9, 4},
                                Data(std::vector<float>(12, 0.f), {3, 4})};
  const auto outside = HasSubstr("9");
  PreparedRun run = session.prepare("train", wrong);
  EXPECT_NO_THROW(run.start());
  EXPECT_THAT(error_of(ErrorKind::input, [&] { session("sum"); }), outside);
  EXPECT_NO_THROW(session("sum"));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(error_of(ErrorKind::input, [&] { run.wait(); }), outside);
  PreparedRun second = session.prepare("train", wrong);
  second.start();
  PreparedRun third = session.prepare("train", words_of(1));
  EXPECT_THAT(error_of(ErrorKind::input, [&] { third.start(); }), outside) << "it has not begun";
  EXPECT_EQ(third.wait().size(), 2u);
}

TEST_F(AheadOnDevice, AGraphThatASessionDropsKeepsItsRun) {
  AheadWords model;
  SessionOptions options = ahead_on_gpu();
  options.kept = 1;
  Session session(model.model, options), whole(model.model, ahead_on_gpu());
  const cuda::testing::LateWork late;
  PreparedRun run = session.prepare("train", words_of(1));
  run.start();
  const std::vector<Data> two{std::vector<int32_t>{0, 1}, Data(std::vector<float>(8, 1.f), {2, 4})};
  PreparedRun other = session.prepare("train", two);  // drops the graph of three words
  EXPECT_EQ(run.wait()["rows"].to_vector(), whole.run("train", words_of(1))["rows"].to_vector());
  EXPECT_EQ(other.wait()["rows"].to_vector(), whole.run("train", two)["rows"].to_vector());
  PreparedRun left = session.prepare("train", words_of(2));
  left.start();
}

}  // namespace
}  // namespace graphc::core::testing

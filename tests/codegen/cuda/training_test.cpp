// SPDX-License-Identifier: Apache-2.0
// A whole training in the emulator: ptb-lm, its size for tests, for 50 steps and the evaluations
// behind them, beside the same on the CPU.
#include "models/training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/graphc.h"
#include "models/registry.h"
#include "runtime/files/safetensors.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::testing {
namespace {

constexpr int kTrainingSteps = 50;

/// A text of so many tokens, ends of lines among them, of 40 words: three times in four the next
/// one follows from the one before.
std::string text_of_tokens(int tokens) {
  std::string text;
  uint32_t random = 1;
  for (int i = 0, word = 0; i < tokens; ++i) {
    random = random * 1664525 + 1013904223;
    word = random >> 30 == 0 ? int(random >> 8) % 40 : (word * 7 + 3) % 40;
    text += i % 12 == 11 ? "\n" : fmt::format("w{} ", word);
  }
  return text;
}

/// What a training tells, and the states it begins with and leaves.
struct TrainedStates {
  std::vector<double> losses;  ///< of every step
  std::vector<double> evaluated;
  std::map<std::string, Literal> first, last;
};

std::map<std::string, Literal> all_states(Session& session, const TemporaryFolder& folder) {
  const std::string file = (folder.path() / "states.safetensors").string();
  session.save(file, Saving::everything);
  return read_safetensors(file).arrays;
}

TrainedStates train_on(const char* target, const std::vector<std::string>& parameters,
                       const CompileOptions& how = {}) {
  // 20 rows of as many windows of 2 tokens as there are steps, and the last target.
  const TemporaryFolder folder;
  folder.add("ptb.train.txt", text_of_tokens(20 * (2 * kTrainingSteps + 1)));
  folder.add("ptb.valid.txt", text_of_tokens(100));
  folder.add("ptb.test.txt", text_of_tokens(12));
  const auto program = make_program("ptb-lm", parameters);
  Session session(
      program->model(),
      {.target = target, .compile = how, .seed = 5, .announce = [](const std::string&) {}});
  TrainedStates trained;
  trained.first = all_states(session, folder);
  TrainOptions options{.data = folder.path(), .epochs = 1};
  options.report = [&](const TrainEvent& event) {
    if (event.loss) trained.losses.push_back(*event.loss);
    for (const char* name : {"valid_perplexity", "test_perplexity"})
      if (const auto perplexity = event.metric(name))
        trained.evaluated.push_back(std::log(*perplexity));
  };
  program->train(session, options);
  trained.last = all_states(session, folder);
  return trained;
}

/// How far f32 numbers may be apart after so many steps, as a share of the largest: what a step
/// rounds, some eight times from a parameter to its next value, stays there and adds up like random
/// errors, by the root of the number of steps. Steps do not enlarge it: the rate is 1, and the
/// gradients' norm at most 1. The largest found is a twentieth of it in a loss, a sixth in a state.
double tolerance_after(size_t steps) { return 8 * 0x1p-24 * std::sqrt(double(steps)); }

double largest_element(const Literal& value) {
  double largest = 0;
  for (int64_t k = 0; k < value.elements(); ++k)
    largest = std::max(largest, std::abs(value.element(k)));
  return largest;
}

double largest_difference(const Literal& a, const Literal& b) {
  double largest = 0;
  for (int64_t k = 0; k < a.elements(); ++k)
    largest = std::max(largest, std::abs(a.element(k) - b.element(k)));
  return largest;
}

/// The states tell what losses do not: what moves little has little to say in them.
void expect_the_same_states(const TrainedStates& found, const TrainedStates& wanted) {
  ASSERT_EQ(found.last.size(), wanted.last.size());
  for (const auto& [name, last] : wanted.last) {
    SCOPED_TRACE(name);
    const double tolerance = tolerance_after(kTrainingSteps) * largest_element(last);
    EXPECT_LE(largest_difference(found.last.at(name), last), tolerance);
    const auto first = wanted.first.find(name);
    if (first == wanted.first.end()) continue;
    EXPECT_GT(largest_difference(first->second, last), 100 * tolerance) << "it was not trained";
  }
}

void expect_the_same_training(const std::vector<std::string>& parameters,
                              const CompileOptions& how = {}) {
  const cuda::testing::MockDriver driver;
  const TrainedStates wanted = train_on("cpu", parameters);
  const TrainedStates found = train_on("cuda", parameters, how);
  ASSERT_EQ(wanted.losses.size(), size_t(kTrainingSteps));
  ASSERT_EQ(found.losses.size(), wanted.losses.size());
  for (size_t i = 0; i < wanted.losses.size(); ++i) {
    EXPECT_NEAR(found.losses[i] / wanted.losses[i], 1, tolerance_after(i + 1)) << "step " << i + 1;
  }
  EXPECT_LT(wanted.losses.back(), wanted.losses.front() - 0.2) << "it does not learn";
  ASSERT_EQ(found.evaluated.size(), 2u) << "of validation and of test";
  for (size_t i = 0; i < found.evaluated.size(); ++i)
    EXPECT_NEAR(found.evaluated[i] / wanted.evaluated[i], 1, tolerance_after(kTrainingSteps));
  expect_the_same_states(found, wanted);
  count("training steps in the emulator", kTrainingSteps);
}

TEST(CudaTraining, OfPtbLmHasTheLossesOfTheCpu) {
  // Room for the words of the corpus: with 10,000 it takes minutes.
  expect_the_same_training({"size=test", "vocabulary=64"});
}

TEST(CudaTraining, ByCudnnAndCublasltHasTheLossesOfTheCpu) {
  expect_the_same_training({"size=test", "vocabulary=64"},
                           {.variant = "cudnn", .cuda = {.products = cuda::Products::cublaslt}});
}

TEST(CudaTrainingSlow, OfPtbLmWithAllItsWordsHasTheLossesOfTheCpu) {
  expect_the_same_training({"size=test"});
}

}  // namespace
}  // namespace graphc::core::testing

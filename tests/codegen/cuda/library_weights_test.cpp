// SPDX-License-Identifier: Apache-2.0
// The weights of a layer in cuDNN's order, kept between calls as a derived form of the states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "runtime/cuda/driver.h"
#include "tests/codegen/precision_trial.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Literals = std::vector<Literal>;

/// A layer and what its step does with its states.
std::string graph_with(const std::string& operands, const std::string& next) {
  return R"(graph @g(%x: f32[4,3,2], %h0: f32[3,5])
      state (%w: f32[2,15], %u: f32[5,15], %b: f32[15], %b_n: f32[5]) {
    %y, %last = gru(%x, %h0, )" +
         operands + R"() {reverse = false}
    )" + next +
         R"(
    return %y, %last
  })";
}

std::string plan_of(const std::string& text) {
  return targets::cuda.show(parse_graph(text), {.variant = "cudnn"}, "plan");
}

class LibraryWeights : public ::testing::Test {
 protected:
  LibraryWeights() {
    std::mt19937 random(5);
    for (Value state : graph_->states()) {
      Tensor drawn(state.type());
      for (float& element : drawn.mutable_data<float>())
        element = std::uniform_real_distribution<float>(-1, 1)(random);
      states_.emplace_back(drawn);
    }
    CompileReport report;
    executable_ = compile(graph_, targets::cuda, {.variant = "cudnn"}, report);
  }

  /// How many kernels a call launches; its results are the evaluator's.
  size_t launches(std::vector<StoredState*> states) {
    const size_t before = driver_.calls("cuLaunchKernel");
    std::vector<Tensor> inputs(given_.begin(), given_.end()), outputs;
    for (const Argument& output : executable_->signature().outputs)
      outputs.emplace_back(output.type);
    executable_->run(inputs, states, outputs);
    std::map<std::string, Literal> weights;
    for (size_t i = 0; i < states.size(); ++i)
      weights.emplace(graph_->states()[i].name(), states[i]->home().copy());
    const Literals wanted = evaluate(*graph_, given_, weights).results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Literal found = outputs[i].copy();
      for (int64_t k = 0; k < found.elements(); ++k)
        EXPECT_NEAR(found.element(k), wanted[i].element(k), 1e-6) << i << ", " << k;
    }
    return driver_.calls("cuLaunchKernel") - before;
  }
  size_t launches() { return launches({&states_[0], &states_[1], &states_[2], &states_[3]}); }

  static void change(StoredState& state) {
    for (float& element : state.change().mutable_data<float>()) element = 0.5f - element;
  }

  cuda::testing::MockDriver driver_;
  const GraphPtr graph_ = parse_graph(graph_with("%w, %u, %b, %b_n", ""));
  std::unique_ptr<Executable> executable_;
  const Literals given_ = drawn_inputs(*graph_, 7, 1, false);
  std::deque<StoredState> states_;
};

TEST_F(LibraryWeights, AreMadeOnceUntilAStateIsWritten) {
  const size_t made = launches();
  EXPECT_EQ(made, 5u) << "zeros, and four copies";
  EXPECT_EQ(launches(), 0u);
  for (StoredState& state : states_) {
    change(state);
    EXPECT_EQ(launches(), made);
    EXPECT_EQ(launches(), 0u);
  }
}

/// What failed half-way is not taken for made.
TEST_F(LibraryWeights, AreMadeAnewWhenThatHasFailed) {
  const size_t made = launches();
  for (size_t call = 1; call <= made; ++call) {
    change(states_[1]);
    driver_.heal();
    driver_.fail("cuLaunchKernel", cuda::CUDA_ERROR_OUT_OF_MEMORY, call);
    EXPECT_THROW(launches(), Error);
    driver_.heal();
    EXPECT_EQ(launches(), made) << "after call " << call;
  }
}

TEST_F(LibraryWeights, AreThoseOfTheStatesOfTheCall) {
  const size_t made = launches();
  StoredState other(states_[1].home().copy());
  change(other);
  EXPECT_EQ(launches({&states_[0], &other, &states_[2], &states_[3]}), made);
  EXPECT_EQ(launches(), made);
  EXPECT_EQ(launches(), 0u);
}

TEST(LibraryWeightsPlan, OnlyStatesThatTheStepLeavesAloneHaveAForm) {
  const std::string kept = plan_of(graph_with("%w, %u, %b, %b_n", ""));
  EXPECT_THAT(kept, HasSubstr("when %w, %u, %b, %b_n have changed:\n"));
  EXPECT_THAT(kept, Not(HasSubstr("\nmap %"))) << "the step is the library's call alone";
  // One of them is written, or made in the step.
  for (const auto& [operands, next] : {std::pair("%w, %u, %b, %b_n", "next %u = mul(%u, 0.5)"),
                                       std::pair("%w, mul(%u, 0.5), %b, %b_n", "")}) {
    const std::string step = plan_of(graph_with(operands, next));
    EXPECT_THAT(step, HasSubstr("external %"));
    EXPECT_THAT(step, Not(HasSubstr("changed:")));
  }
}

}  // namespace
}  // namespace graphc::core::testing

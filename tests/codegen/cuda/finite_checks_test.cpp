// SPDX-License-Identifier: Apache-2.0
// Steps that look themselves whether what they gave is finite, and keep states as they were.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "ir/text.h"
#include "tests/runtime/cuda/mock_driver.h"

namespace graphc::core::testing {
namespace {

/// A state that moves by what it is given, as often as a number says; a type of every kind.
constexpr const char* kMoves = R"(
  graph @moves(%x: f32[700]) state (%s: f32[700], %wide: f64[3], %half: bf16[5], %count: i32[]) {
    %first = slice %x {axis = 0, start = 0, limit = 3}
    %five = slice %x {axis = 0, start = 0, limit = 5}
    %t = add %s, %x
    next %s = %t, %wide = add(%wide, cast(%first) {dtype = f64}),
         %half = add(%half, cast(%five) {dtype = bf16}), %count = add(%count, 1)
    return mul(%t, 2)
  })";

class FiniteChecks : public ::testing::Test {
 protected:
  FiniteChecks() {
    for (const Argument& state : executable_->signature().states) {
      states_.push_back(std::make_unique<StoredState>(Tensor(Literal::filled(state.type, 8))));
      pointers_.push_back(states_.back().get());
    }
  }

  /// A call whose input is 1 but for one element.
  void call(size_t element, float value) {
    std::vector<Tensor> inputs{Tensor(Literal::filled({DType::f32, {700}}, 1))}, outputs;
    reinterpret_cast<float*>(inputs[0].address())[element] = value;
    outputs.emplace_back(Type{DType::f32, {700}});
    executable_->run(inputs, pointers_, outputs);
  }

  double home(size_t state, int64_t element) const {
    return states_[state]->home().copy().element(element);
  }

  cuda::testing::MockDriver driver_;
  CompileReport report_;
  std::unique_ptr<Executable> executable_ =
      compile(parse_graph(kMoves), targets::cuda, {.cuda = {.check_finite = true}}, report_);
  std::vector<std::unique_ptr<StoredState>> states_;
  std::vector<StoredState*> pointers_;
};

TEST_F(FiniteChecks, AskNothingOfTheHost) {
  ASSERT_TRUE(executable_->checks_finite());
  EXPECT_FALSE(compile(parse_graph(kMoves), targets::cuda, {}, report_)->checks_finite());
  call(0, 1);
  driver_.heal();
  call(0, 1);
  EXPECT_TRUE(executable_->was_finite());
  EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2"), 0u) << "nothing is brought home to be looked at";
  EXPECT_EQ(driver_.calls("cuGraphLaunch"), 1u);
  EXPECT_EQ(driver_.calls("cuStreamSynchronize"), 1u);
}

TEST_F(FiniteChecks, GiveEveryStateBackWhatItHad) {
  call(0, 1);
  for (const size_t element : {0, 2, 4, 699}) {
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      call(element, bad);
      EXPECT_FALSE(executable_->was_finite()) << element << ": " << bad;
      EXPECT_FALSE(std::isfinite(home(0, int64_t(element)))) << "the step has written it";
      executable_->restore(pointers_);
      executable_->restore(pointers_);  // once is enough
      EXPECT_EQ(home(0, int64_t(element)), 9);
      EXPECT_EQ(home(1, 2), 9);
      EXPECT_EQ(home(2, 4), 9);
      EXPECT_EQ(home(3, 0), 9);
    }
  }
  call(0, 1);
  EXPECT_TRUE(executable_->was_finite());
  EXPECT_EQ(home(0, 699), 10);
}

TEST_F(FiniteChecks, LargeNumbersAreFinite) {
  call(1, 3e38f);
  EXPECT_FALSE(executable_->was_finite()) << "twice that is not";
  executable_->restore(pointers_);
  call(1, -1.5e38f);
  EXPECT_TRUE(executable_->was_finite());
}

}  // namespace
}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// graphc check --gradient on cells of a user's own.
#include <gmock/gmock.h>

#include "tests/testing/transcript.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Ran check(const std::string& graph, const std::string& options = "") {
  const TemporaryFolder folder;
  folder.add("own.graph", graph);
  return run_bash("graphc check own.graph --gradient --target=reference " + options, folder);
}

TEST(CheckGradient, TakesACellWithoutALossAndNamesEveryLeaf) {
  const Ran ran = check(R"(
    graph @cell(%x: f32[5,3,2], %mask: bool[5,3,1], %h0: f32[3,4])
        state (%w: f32[2,4], %u: f32[4,4]) {
      %y, %h.end = scan %x.t in %x, %m in %mask carry %h = %h0 with %w, %u {
        %h.1 = select(%m, tanh(add(matmul(%x.t, %w), matmul(%h, %u))), %h)
        next %h = %h.1
        emit %h.1
      }
      return %y, %h.end
    })");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("the derivative of a combination of its results"));
  for (const char* leaf : {"x", "h0", "w", "u"})
    EXPECT_THAT(ran.out, ContainsRegex(fmt::format("  %{} +[-0-9.e]+, by differences", leaf)));
  EXPECT_THAT(ran.out, AllOf(Not(HasSubstr("%mask")), Not(HasSubstr("differ\n"))));
}

TEST(CheckGradient, SaysByWhichLeafItDiffers) {
  const Ran ran = check(R"(
    graph @f(%x: f32[4], %y: f32[4]) {
      return sum(mul(%x, stop_gradient(%y))) {axes = [0]}
    })");
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.out, AllOf(ContainsRegex("  %x [^\n]*[0-9]\n"),
                             ContainsRegex("  %y [^\n]*  they differ\n"), HasSubstr("--seed")));
}

TEST(CheckGradient, TakesTheLossOfAGrad) {
  const Ran ran = check(R"(
    graph @train(%x: f32[4]) state (%w: f32[4]) {
      %error = sum(square(mul(%x, %w))) {axes = [0]}
      %dw = grad %error, %w
      next %w = sub(%w, %dw)
      return %w
    })");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("the derivative of %error,"));
}

TEST(CheckGradient, AnotherSeedIsAnotherPoint) {
  const char* graph = "graph @f(%x: f32[3]) { return sum(tanh(%x)) {axes = [0]} }";
  EXPECT_EQ(check(graph).out, check(graph, "--seed=1").out);
  EXPECT_NE(check(graph).out, check(graph, "--seed=2").out);
  EXPECT_EQ(check(graph, "--seed=2").code, 0);
}

/// A network that is right and, with large weights, chaotic: a recurrence of 100 steps.
constexpr const char* kLong = R"(
    graph @rnn(%x: f32[100,2,8], %h0: f32[2,64]) state (%w: f32[8,64], %u: f32[64,64]) {
      %y, %h.end = scan %x.t in %x carry %h = %h0 with %w, %u {
        %h.1 = tanh(add(matmul(%x.t, %w), matmul(%h, %u)))
        next %h = %h.1
        emit %h.1
      }
      return %h.end
    })";

TEST(CheckGradient, ALongRecurrenceAgreesAndNeedsNoSmallerNumbers) {
  const Ran ran = check(kLong);
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, Not(HasSubstr("ill-conditioned")));
}

TEST(CheckGradient, SaysWhereDifferencesTellNothing) {
  const Ran ran = check(kLong, "--scale=8 --input x=0.01");
  EXPECT_EQ(ran.code, 6) << ran.out;
  EXPECT_THAT(ran.out, AllOf(ContainsRegex("  %u [^\n]*  ill-conditioned: another step has it "),
                             HasSubstr("try --scale=0.1"), Not(HasSubstr("they differ"))));
}

TEST(CheckGradient, AdaptsTheStepToAKinkNearby) {
  // 2e-5 from the point where the derivative is another: nearer than the first step.
  const char* near = "graph @f(%x: f32[]) { return relu(sub(%x, 0.49998)) }";
  EXPECT_EQ(check(near, "--input x=0.5").code, 0) << check(near, "--input x=0.5").out;
  const Ran at = check(near, "--input x=0.49998");
  EXPECT_EQ(at.code, 4) << at.out;
  EXPECT_THAT(at.out, HasSubstr("they differ"));
}

TEST(CheckGradient, ASmallDerivativeIsNotTakenForRight) {
  const Ran ran = check(R"(
    graph @f(%x: f32[4], %y: f32[4]) {
      return mul(sum(mul(%x, add(%y, mul(1e-3, stop_gradient(%y))))) {axes = [0]}, 1e-5)
    })");
  EXPECT_EQ(ran.code, 4) << ran.out;
}

TEST(CheckGradient, RefusesWhatHasNoDerivative) {
  const Ran integers = check("graph @f(%x: f32[3]) { return greater(%x, 0.) }");
  EXPECT_EQ(integers.code, 3);
  EXPECT_THAT(integers.err, HasSubstr("@f: no floating-point result to differentiate"));
  const Ran constant = check("graph @f(%x: i32[3]) { return cast(%x) {dtype = f32} }");
  EXPECT_EQ(constant.code, 3);
  EXPECT_THAT(constant.err, HasSubstr("no floating-point input or state to differentiate by"));
}

}  // namespace
}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// graphc check finds what is wrong with a target: the evaluator's, with one fault at a time.
#include "tools/commands/check_target.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "ir/text.h"
#include "tests/testing/targets.h"

namespace graphc::core::commands {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

enum class Fault {
  none,
  small,
  second_run,
  state,
  left_alone,
  input,
  unwritten,
  bits,
  one_variant
};

Fault g_fault = Fault::none;  // a target's functions take nothing of their own

class WrongExecutable : public Executable {
 public:
  WrongExecutable(std::unique_ptr<Executable> right, const CompileOptions& options)
      : Executable(right->signature()), right_(std::move(right)), options_(options) {}

 private:
  void execute(std::span<const Tensor> inputs, std::span<StoredState* const> states,
               std::span<Tensor> outputs) override {
    ++runs_;
    const Literal before = outputs[0].copy();
    right_->run(inputs, states, outputs);
    float* result = outputs[0].mutable_data<float>().data();
    float* state = states[0]->change().mutable_data<float>().data();
    float* constant = states[1]->change().mutable_data<float>().data();
    const bool faulty = options_.variant == "basic";
    switch (g_fault) {
      case Fault::none:
        return;
      case Fault::small:
        result[1] *= 1.01f;
        return;
      case Fault::second_run:
        result[1] *= runs_ == 2 ? 1.01f : 1;
        return;
      case Fault::state:
        state[2] *= 1.01f;
        return;
      case Fault::left_alone:
        constant[0] += 1;
        return;
      case Fault::input:
        *reinterpret_cast<float*>(inputs[0].address()) = 7;
        return;
      case Fault::unwritten:
        std::memcpy(result, before.bytes().data(), sizeof(float));
        return;
      case Fault::bits:
        result[0] *= options_.threads > 1 ? 1.000001f : 1;
        return;
      case Fault::one_variant:
        result[0] *= faulty ? 2.f : 1.f;
        return;
    }
  }

  std::unique_ptr<Executable> right_;
  CompileOptions options_;
  int runs_ = 0;
};

constexpr std::array<std::string_view, 2> kOptions{"threads", "variant"};
constexpr std::array kPrecisions{Precision::f32};

const Target kWrong{
    .name = "wrong",
    .summary = "the evaluator with a fault",
    .precisions = kPrecisions,
    .options = kOptions,
    .unavailable = [] { return std::string(); },
    .compile = [](const GraphPtr& graph, const CompileOptions& options,
                  CompileReport& report) -> std::unique_ptr<Executable> {
      return std::make_unique<WrongExecutable>(targets::reference.compile(graph, {}, report),
                                               options);
    },
};

/// Everything in it is far below 1.
constexpr const char* kGraph = R"(
  graph @f(%x: f32[4]) state (%s: f32[4], %k: f32[4]) {
    next %s = mul(tanh(%s), 1e-5)
    return mul(mul(add(%x, %s), %k), 1e-6)
  })";

Agreement check_with(Fault fault, TargetCheck how = {}) {
  g_fault = fault;
  return check_target(parse_graph(kGraph), kWrong, how);
}

TEST(CheckTarget, SaysInALineThatATargetIsRight) {
  const Agreement found = check_with(Fault::none);
  EXPECT_TRUE(found.agrees());
  EXPECT_THAT(found.text, ContainsRegex("^@f: wrong agrees with the evaluator within 0; "
                                        "basic, unrolled, fused; 1 and [0-9]+ threads; 2 runs\n$"));
}

TEST(CheckTarget, AgreesWithEveryTarget) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3,4], %w: f32[4,4]) state (%h: f32[4]) {
      %y, %end = scan %x.t in %x carry %h.t = %h with %w {
        %next = tanh(add(matmul(reshape(%h.t) {shape = [1,4]}, %w), %x.t))
        next %h.t = reshape(%next) {shape = [4]}
        emit %next
      }
      next %h = %end
      return sum(%y) {axes = [0,1]}
    })");
  for (const testing::TargetLevel& level : testing::all_target_levels()) {
    const Agreement found = check_target(graph, level.target(), {});
    EXPECT_TRUE(found.agrees()) << found.text;
  }
}

TEST(CheckTarget, AgreesWhereATargetFlushesDenormals) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3,400], %w: f32[400,4]) {
      %faded = mul(%x, 1e-38)
      %y = matmul(mul(%x, 1e-20), mul(%w, 1e-20))
      return mul(%faded, 1e38), %y, mul(%y, 1e30), less(0., %faded)
    })");
  for (const testing::TargetLevel& level : testing::all_target_levels()) {
    const Agreement found = check_target(graph, level.target(), {});
    EXPECT_TRUE(found.agrees()) << found.text;
  }
}

TEST(CheckTarget, TakesANaNForANaNOfEitherSign) {
  // Infinities less themselves, and logarithms of negative numbers, meet in a product.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%a: f32[21,64], %b: f32[21,32]) {
      %i = mul(mul(%a, 1e38), 1e38)
      return matmul(sub(%i, %i), log(sub(%b, 2.))) {transpose_a = true}
    })");
  for (const testing::TargetLevel& level : testing::all_target_levels()) {
    const Agreement found = check_target(graph, level.target(), {});
    EXPECT_TRUE(found.agrees()) << found.text;
  }
}

TEST(CheckTarget, FindsASmallErrorOfSmallNumbers) {
  const Agreement found = check_with(Fault::small);
  EXPECT_FALSE(found.agrees());
  for (const char* variant : {"basic", "unrolled", "fused"}) {
    EXPECT_THAT(found.text,
                ContainsRegex(fmt::format(
                    "@f: wrong, {}: 1 thread, run 1: %[a-z.0-9]+: element 1 is ", variant)));
  }
  EXPECT_TRUE(check_with(Fault::small, {.tolerance = 0.1}).agrees());
}

TEST(CheckTarget, FindsWhatOnlyTheSecondRunShows) {
  EXPECT_THAT(check_with(Fault::second_run).text, HasSubstr("run 2: %"));
  EXPECT_TRUE(check_with(Fault::second_run, {.runs = 1}).agrees());
  EXPECT_THAT(check_with(Fault::unwritten).text, HasSubstr("element 0 is nan"));
}

TEST(CheckTarget, FindsWrongStatesAndInputs) {
  EXPECT_THAT(check_with(Fault::state).text, HasSubstr("run 1: next %s: element 2 is "));
  EXPECT_THAT(check_with(Fault::left_alone).text, HasSubstr("run 1: next %k: element 0 is "));
  EXPECT_THAT(check_with(Fault::input).text, HasSubstr("run 1: input %x is written to"));
}

TEST(CheckTarget, FindsBitsThatDependOnTheNumberOfThreads) {
  EXPECT_THAT(
      check_with(Fault::bits).text,
      ContainsRegex("[0-9]+ threads, run 1: %[^\n]*: the bits are not those of 1 thread\n"));
  TargetCheck two;
  two.compile.threads = 2;
  EXPECT_TRUE(check_with(Fault::bits, two).agrees());
}

TEST(CheckTarget, SaysWhichVariantIsWrong) {
  const Agreement found = check_with(Fault::one_variant);
  EXPECT_FALSE(found.agrees());
  EXPECT_THAT(found.text,
              AllOf(HasSubstr("@f: wrong, basic: 1 thread, run 1: %"),
                    HasSubstr("@f: wrong, fused: agrees with the evaluator within 0\n")));
  TargetCheck fused;
  fused.compile.variant = "fused";
  EXPECT_TRUE(check_with(Fault::one_variant, fused).agrees());
  EXPECT_THAT(check_with(Fault::one_variant, fused).text, Not(HasSubstr("basic")));
}

}  // namespace
}  // namespace graphc::core::commands

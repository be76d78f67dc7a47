// SPDX-License-Identifier: Apache-2.0
// The reference target, and what every executable promises about its arguments.
#include "codegen/target.h"

#include <gmock/gmock.h>

#include "ir/text.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Swaps two states, so that a write before the last read would show; and returns an old value.
constexpr const char* kSwap = R"(
graph @swap(%x: f32[2]) state(%a: f32[2], %b: f32[2]) {
  %sum = add %x, %a
  next %a = %b, %b = %a
  return %sum, %a
})";

constexpr const char* kStep = R"(
graph @step(%x: f32[3]) state(%w: f32[3]) {
  %p = mul %x, %w
  %s = mul %p, %p
  %loss = sum %s {axes = [0]}
  %d = grad %loss, %w
  %w.1 = sub %w, %d
  next %w = %w.1
  return %loss
})";

std::unique_ptr<Executable> compiled(const char* text, Precision precision = Precision::f32) {
  CompileReport report;
  CompileOptions options;
  options.precision = precision;
  return compile(parse_graph(text), targets::reference, options, report);
}

Tensor of(std::vector<float> elements) {
  return Literal(std::span<const float>(elements), {int64_t(elements.size())});
}

TEST(ReferenceTarget, AssignsAllStatesAtOnce) {
  const auto swap = compiled(kSwap);
  std::vector<Tensor> states{of({1, 2}), of({30, 40})}, outputs(2, of({0, 0}));
  for (Tensor& output : outputs) output.make_unique();
  swap->run(std::vector{of({5, 6})}, states, outputs);
  EXPECT_THAT(states[0].data<float>(), ElementsAre(30, 40));
  EXPECT_THAT(states[1].data<float>(), ElementsAre(1, 2));
  EXPECT_THAT(outputs[0].data<float>(), ElementsAre(6, 8));
  EXPECT_THAT(outputs[1].data<float>(), ElementsAre(1, 2));
}

TEST(ReferenceTarget, DifferentiatesBeforeItRuns) {
  const auto step = compiled(kStep);
  std::vector<Tensor> states{of({1, 2, 3})}, outputs{Tensor(Type{DType::f32, {}})};
  step->run(std::vector{of({1, 0, 2})}, states, outputs);
  // loss = sum (x w)^2, d = 2 x^2 w.
  EXPECT_EQ(outputs[0].item<float>(), 37);
  EXPECT_THAT(states[0].data<float>(), ElementsAre(-1, 2, -21));
}

TEST(ReferenceTarget, ComputesInF64) {
  const auto step = compiled(kStep, Precision::f64);
  EXPECT_EQ(step->signature().states[0].type, (Type{DType::f64, {3}}));
  std::vector<Tensor> states{Tensor(Type{DType::f64, {3}})}, outputs{Tensor(Type{DType::f64, {}})};
  states[0].mutable_data<double>()[1] = 1 + 0x1p-40;
  Tensor x(Type{DType::f64, {3}});
  x.mutable_data<double>()[1] = 1;
  step->run(std::vector{x}, states, outputs);
  EXPECT_EQ(outputs[0].item<double>(), (1 + 0x1p-40) * (1 + 0x1p-40));
}

TEST(ReferenceTarget, ArgumentsAreCheckedBeforeTheFirstWrite) {
  const auto step = compiled(kStep);
  std::vector<Tensor> states{of({1, 2, 3})}, outputs{Tensor(Type{DType::f32, {}})};
  const auto message = [&](std::vector<Tensor> inputs, std::vector<Tensor> results) {
    return error_of(ErrorKind::input, [&] { step->run(inputs, states, results); });
  };
  EXPECT_EQ(message({}, outputs), "graph 'step' has 1 input: found 0");
  EXPECT_EQ(message({of({1, 2})}, outputs), "graph 'step': input 'x' is f32[3]: found f32[2]");
  EXPECT_EQ(message({of({1, 2, 3})}, {of({1})}),
            "graph 'step': output 'loss' is f32[]: found f32[1]");
  EXPECT_THAT(states[0].data<float>(), ElementsAre(1, 2, 3));
}

TEST(Compile, RefusesAGraphTheVerifierRefusesAndAPrecisionTheTargetLacks) {
  EXPECT_THAT(error_of(ErrorKind::usage, [] { compiled(kStep, Precision::bf16); }),
              HasSubstr("target 'reference' has no precision 'bf16': it has f32, f64; targets that "
                        "have it: 'cpu', 'cuda'"));
}

TEST(Targets, AreFoundByNameAndTheDefaultCanRun) {
  for (const Target* one : all_targets()) EXPECT_EQ(&target(one->name), one);
  EXPECT_TRUE(default_target().unavailable().empty());
  EXPECT_THAT(error_of(ErrorKind::usage, [] { target("tpu"); }), HasSubstr("unknown target 'tpu'"));
}

}  // namespace
}  // namespace graphc::core

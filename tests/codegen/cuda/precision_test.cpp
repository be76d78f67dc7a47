// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores, in every precision there is, through the mock driver.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "codegen/lower/lower.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "tests/codegen/precision_trial.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/expect_error.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Literals = std::vector<Literal>;

std::vector<PrecisionCase> cases_of_cuda() {
  std::vector<PrecisionCase> cases;
  for (const Precision precision : cuda::kPrecisions) {
    cases.push_back(
        {precision == Precision::tf32x3 ? "split_tf32" : std::string(name_of(precision)),
         &targets::cuda,
         precision,
         {},
         {cuda::Placement::streamed, cuda::Placement::grid, cuda::Placement::cluster,
          cuda::Placement::block, cuda::Placement::launches},
         [] { return std::make_shared<cuda::testing::MockDriver>(); }});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OfCuda, PrecisionTrial, ::testing::ValuesIn(cases_of_cuda()),
                         name_of_case);

/// Precisions whose products have the factors as they are, or rounded.
class WholeFactors : public PrecisionTrial {};

std::vector<PrecisionCase> cases_of_whole_factors() {
  std::vector<PrecisionCase> cases = cases_of_cuda();
  std::erase_if(cases, [](const PrecisionCase& of) { return of.precision == Precision::tf32x3; });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(OfCuda, WholeFactors, ::testing::ValuesIn(cases_of_whole_factors()),
                         name_of_case);

/// Threads that have a term beyond the end load the last one: it must not become 0 * infinity.
TEST_P(WholeFactors, ThatAreInfiniteInTheLastTermMakeInfiniteSums) {
  for (const int64_t terms : {1, 20, 33, 300}) {
    const GraphPtr graph = parse_graph(fmt::format(
        "graph @p(%a: f32[9,{0}], %b: f32[{0},7]) {{\n  return matmul(%a, %b)\n}}", terms));
    for (const bool of_right : {false, true}) {
      Literals inputs{Literal(Type{DType::f32, Shape{9, terms}}),
                      Literal(Type{DType::f32, Shape{terms, 7}})};
      for (Literal& input : inputs) std::ranges::fill(input.mutable_data<float>(), 1.0f);
      inputs[of_right].mutable_data<float>()[size_t(of_right ? (terms - 1) * 7 : terms - 1)] =
          std::numeric_limits<float>::infinity();
      EXPECT_EQ(run(graph, inputs), evaluate(*graph, inputs).results) << terms << of_right;
    }
  }
}

std::string text_of(const std::string& graph, Precision precision,
                    std::string_view architecture = "sm_80") {
  CompileReport report;
  const Plan plan = make_plan(*form_kernels_for(parse_graph(graph), {}, report),
                              cuda::gpu_machine(precision, architecture));
  std::string all;
  for (const cuda::KernelText& kernel : cuda::make_launches(plan).kernels) all += kernel.text;
  return all;
}

constexpr const char* kProduct =
    "graph @p(%a: f32[20,30], %b: f32[30,40]) {\n  return matmul(%a, %b)\n}";
constexpr const char* kProductOfBf16 =
    "graph @p(%a: bf16[20,30], %b: bf16[30,40]) {\n  return matmul(%a, %b)\n}";

TEST(CudaPrecisions, AreInstructionsOfTensorCores) {
  const std::pair<Precision, const char*> instructions[] = {
      {Precision::tf32, "f32.tf32.tf32.f32"},
      {Precision::tf32x3, "f32.tf32.tf32.f32"},
      {Precision::bf16, "f32.bf16.bf16.f32"},
      {Precision::fp16, "f32.f16.f16.f32"},
  };
  EXPECT_THAT(text_of(kProduct, Precision::f32), Not(HasSubstr("mma.sync")));
  for (const auto& [precision, instruction] : instructions)
    EXPECT_THAT(text_of(kProduct, precision), HasSubstr(instruction)) << name_of(precision);
}

TEST(CudaPrecisions, NeedAGpuThatHasThem) {
  for (const Precision precision :
       {Precision::tf32, Precision::tf32x3, Precision::bf16, Precision::fp16}) {
    EXPECT_THAT(
        error_of(ErrorKind::resource, [&] { cuda::gpu_machine(precision, "sm_75"); }),
        HasSubstr(fmt::format("precision '{}' needs tensor cores of sm_80 or newer: found sm_75",
                              name_of(precision))));
    EXPECT_NO_THROW(cuda::gpu_machine(precision, "compute_100"));
  }
  EXPECT_NO_THROW(cuda::gpu_machine(Precision::f32, "sm_75"));
}

TEST(CudaPrecisions, OfBf16AreTheirOwn) {
  EXPECT_THAT(text_of(kProductOfBf16, Precision::f32), HasSubstr("f32.bf16.bf16.f32"));
  EXPECT_THAT(text_of(kProductOfBf16, Precision::tf32), HasSubstr("f32.bf16.bf16.f32"));
  EXPECT_THAT(text_of(kProductOfBf16, Precision::f32, "sm_75"), Not(HasSubstr("mma.sync")));
  const cuda::testing::MockDriver driver;
  const GraphPtr graph = parse_graph(kProductOfBf16);
  CompileReport report;
  const auto executable = compile(graph, targets::cuda, {}, report);
  for (const bool whole : {true, false}) {
    const Literals given = drawn_inputs(*graph, 5, whole ? 4 : 1, whole);
    std::vector<Tensor> inputs, outputs;
    for (const Literal& input : given) inputs.emplace_back(input);
    outputs.emplace_back(executable->signature().outputs[0].type);
    executable->run(inputs, outputs);
    const Literal found = outputs[0].copy(), wanted = evaluate(*graph, given).results[0];
    for (int64_t i = 0; i < found.elements(); ++i)
      EXPECT_NEAR(found.element(i), wanted.element(i),
                  whole ? 0 : 0x1p-7 * std::abs(wanted.element(i)) + 1e-5);
  }
}

}  // namespace
}  // namespace graphc::core::testing

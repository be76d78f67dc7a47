// SPDX-License-Identifier: Apache-2.0
// CUDA text by itself: names that are nobody else's, helpers that are there when they are called,
// kernels that are the same for other extents.
#include "codegen/targets/cuda/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "codegen/targets/cuda/launches/launches.h"
#include "codegen/targets/cuda/machine.h"
#include "codegen/targets/cuda/text/scalar_text.h"
#include "ir/text.h"

namespace graphc::core::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

cuda::Launches launches_of(const std::string& graph, const Plan** kept = nullptr) {
  static std::vector<std::unique_ptr<Plan>> plans;
  CompileReport report;
  plans.push_back(std::make_unique<Plan>(
      make_plan(*form_kernels_for(parse_graph(graph), {}, report), cuda::gpu_machine())));
  if (kept != nullptr) *kept = plans.back().get();
  return cuda::make_launches(*plans.back());
}

TEST(CudaText, NamesAreIdentifiersAndNobodyElses) {
  cuda::Names names;
  EXPECT_EQ(names.make("h"), "h");
  EXPECT_EQ(names.make("h"), "h_2");
  EXPECT_EQ(names.make("h_2"), "h_2_2");
  EXPECT_EQ(names.make("layer.0/weight"), "layer_0_weight");
  EXPECT_EQ(names.make("3x"), "v3x");
  EXPECT_EQ(names.make("for"), "value_for");
  EXPECT_EQ(names.make("row"), "value_row");
  EXPECT_EQ(names.make("sums_0"), "value_sums_0");
  EXPECT_EQ(names.make("__x__"), "x");
  EXPECT_EQ(names.make("é"), "v");
}

TEST(CudaText, NamesAreNoMacrosAndNoVariablesOfTheText) {
  cuda::Names names;
  for (const char* taken : {"next_row", "next_column", "NULL", "CUDART_VERSION", "cudaStreamLegacy",
                            "blocks_x_of_0", "threadIdx", "expf"})
    EXPECT_EQ(names.make(taken), std::string("value_") + taken);
}

TEST(CudaText, NamesInCommentsStayThere) {
  EXPECT_EQ(cuda::in_comment("b\n#define tanhf(x) 7.0f\n// "), "b?#define tanhf(x) 7.0f?// ");
  EXPECT_EQ(cuda::in_comment("ends in \\"), "ends in ?");
  const cuda::Launches launches = launches_of(
      "graph @f(%x: f32[4,8], %w: f32[8,8]) { %\"b\\n#error\" = tanh(matmul(%x, %w)) return "
      "%\"b\\n#error\" }");
  for (const cuda::KernelText& kernel : launches.kernels)
    EXPECT_THAT(kernel.text, Not(HasSubstr("\n#error")));
}

TEST(CudaText, HelpersAreThoseThatAreCalled) {
  EXPECT_EQ(cuda::helpers_of("x = a + b;"), "");
  EXPECT_THAT(cuda::helpers_of("x = larger(a, b);"), HasSubstr("float larger(float x, float y)"));
  EXPECT_THAT(cuda::helpers_of("x = larger(a, b);"), Not(HasSubstr("larger_double")));
  EXPECT_EQ(cuda::helpers_of("x = my_larger(a, b);"), "");
  EXPECT_THAT(cuda::helpers_of("x = my_larger(a, b) + larger(a, b);"), HasSubstr("float larger("));
}

TEST(CudaText, KernelsOfOtherExtentsAreTheSame) {
  const auto texts = [](int rows, int columns) {
    std::string all;
    const cuda::Launches launches = launches_of(
        fmt::format("graph @f(%x: f32[{0},{1}], %w: f32[{1},{1}], %b: f32[{1}]) {{ return "
                    "tanh(add(matmul(%x, %w), %b)), sum(%x) {{axes = [0]}}, softmax(%x) }}",
                    rows, columns));
    for (const cuda::KernelText& kernel : launches.kernels) all += kernel.text;
    return all;
  };
  // Only the tiles of small products are smaller.
  EXPECT_NE(texts(3, 40), texts(300, 40));
  EXPECT_EQ(texts(33, 40), texts(300, 1234));
}

TEST(CudaText, EveryLaunchFitsItsKernel) {
  const cuda::Launches launches = launches_of(
      "graph @f(%x: f32[7,40], %w: f32[40,40], %i: i32[9]) { return tanh(matmul(%x, %w)), "
      "gather(%x, %i), sum(%x) {axes = [0]}, sum(%x) {axes = [1]} }");
  EXPECT_GE(launches.step.size(), 4u);
  for (const cuda::Launch& launch : launches.step) {
    const std::string& text = launches.kernels[size_t(launch.kernel)].text;
    const size_t begin = text.find("extern"), open = text.find("(\n", begin),
                 close = text.find(") {", open);
    const std::string head = text.substr(open, close - open);
    EXPECT_EQ(size_t(std::ranges::count(head, ',')) + 1, launch.arguments.size()) << head;
    for (const unsigned blocks : launch.grid.blocks) EXPECT_GT(blocks, 0u);
    EXPECT_LE(launch.grid.threads[0] * launch.grid.threads[1] * launch.grid.threads[2], 256u);
  }
}

/// Launches that are loops.
int64_t loops_of(const cuda::Launches& launches) {
  return std::ranges::count_if(launches.step,
                               [](const cuda::Launch& launch) { return !launch.note.empty(); });
}

TEST(CudaText, ALoopIsOneKernelHoweverManyItsSteps) {
  const auto loop = [](int steps) {
    return launches_of(fmt::format(
        "graph @f(%x: f32[{},3,8], %h: f32[3,8], %u: f32[8,8]) {{ %end = scan %x.t in %x carry "
        "%h.t = %h with %u {{ next %h.t = tanh(add(matmul(%h.t, %u), %x.t)) }} return %end }}",
        steps));
  };
  const cuda::Launches few = loop(2), many = loop(500);
  EXPECT_EQ(few.step.size(), many.step.size());
  ASSERT_EQ(few.kernels.size(), many.kernels.size());
  for (size_t i = 0; i < few.kernels.size(); ++i)
    EXPECT_EQ(few.kernels[i].text, many.kernels[i].text);
  EXPECT_EQ(loops_of(many), 1);
}

TEST(CudaText, ALoopInALoopIsOneKernel) {
  const cuda::Launches launches = launches_of(
      "graph @f(%x: f32[40,5,3,8], %h: f32[3,8], %u: f32[8,8]) { %end = scan %x.s in %x carry "
      "%g = %h with %u { %inner = scan %x.t in %x.s carry %h.t = %g with %u { next %h.t = "
      "tanh(add(matmul(%h.t, %u), %x.t)) } next %g = %inner } return %end }");
  EXPECT_EQ(loops_of(launches), 40);
  EXPECT_LT(launches.kernels.size(), 8u);
}

TEST(CudaText, ValuesKeepTheirNames) {
  const cuda::Launches launches = launches_of(
      "graph @f(%speed: f32[7,40], %mass: f32[7,40]) { %energy = mul(%mass, mul(%speed, %speed)) "
      "return %energy }");
  ASSERT_EQ(launches.kernels.size(), 1u);
  for (const char* name : {"const float* speed", "const float* mass", "float* energy"})
    EXPECT_THAT(launches.kernels[0].text, HasSubstr(name));
}

}  // namespace
}  // namespace graphc::core::testing

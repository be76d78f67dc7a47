// SPDX-License-Identifier: Apache-2.0
// What cuDNN and cuBLASLt do of a step, on their mocks: layers and products agree with the
// evaluator, choices are made once and remembered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/target.h"
#include "codegen/targets/cuda/libraries/library_calls.h"
#include "codegen/targets/cuda/machine.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/precision_trial.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/kernel_folder.h"

namespace graphc::core::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Literals = std::vector<Literal>;

struct LayerCase {
  const char* name;
  const char* operands;  ///< behind x
  const char* gradients;
  bool has_cell = false;
};
constexpr LayerCase kLayers[] = {
    {"lstm", "%h0: f32[3,5], %c0: f32[3,5], %w: f32[2,20], %u: f32[5,20], %b: f32[20]",
     "%x, %h0, %c0, %w, %u, %b", true},
    {"gru", "%h0: f32[3,5], %w: f32[2,15], %u: f32[5,15], %b: f32[15], %b_n: f32[5]",
     "%x, %h0, %w, %u, %b, %b_n"},
    {"rnn", "%h0: f32[3,5], %w: f32[2,5], %u: f32[5,5], %b: f32[5]", "%x, %h0, %w, %u, %b"},
};

/// A layer, all it gives and, with a loss of all that, all gradients.
std::string layer_text(const LayerCase& layer, bool reverse, bool gradients) {
  const std::string names = layer.gradients;
  std::string text = fmt::format("graph @layer(%x: f32[4,3,2], {}", layer.operands);
  text += ", %dy: f32[4,3,5], %dh: f32[3,5], %dc: f32[3,5]) {\n";
  text += fmt::format("  %y, %last{} = {}({}) {{reverse = {}}}\n", layer.has_cell ? ", %cell" : "",
                      layer.name, names, reverse);
  if (!gradients) return text + "  return %y, %last\n}";
  text +=
      "  %a = add(sum(mul(%y, %dy)) {axes = [0, 1, 2]}, sum(mul(%last, %dh)) {axes = [0, 1]})\n";
  text += layer.has_cell ? "  %loss = add(%a, sum(mul(%cell, %dc)) {axes = [0, 1]})\n"
                         : "  %loss = add(%a, sum(%dc) {axes = [0, 1]})\n";
  std::string results;
  for (int i = 0; i < 1 + int(std::ranges::count(names, ',')); ++i)
    results += fmt::format("{}%g.{}", i > 0 ? ", " : "", i);
  return text +
         fmt::format("  {} = grad %loss, {}\n  return %y, %last, {}\n}}", results, names, results);
}

class CudaLibraries : public ::testing::Test {
 protected:
  std::unique_ptr<Executable> compiled(const GraphPtr& graph, const CompileOptions& options) {
    report_ = {};
    return compile(graph, targets::cuda, options, report_);
  }

  static Literals run(Executable& executable, const Literals& given) {
    std::vector<Tensor> inputs, outputs;
    for (const Literal& input : given) inputs.emplace_back(input);
    for (const Argument& output : executable.signature().outputs) outputs.emplace_back(output.type);
    executable.run(inputs, outputs);
    Literals found;
    for (const Tensor& output : outputs) found.push_back(output.copy());
    return found;
  }

  /// The results are the evaluator's, within `tolerance` of the largest element of each.
  void expect_near(const GraphPtr& graph, const Literals& found, const Literals& given,
                   double tolerance) {
    const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
    const Literals wanted = evaluate(*plain, given).results;
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      double largest = 0;
      for (int64_t k = 0; k < wanted[i].elements(); ++k)
        largest = std::max(largest, std::abs(wanted[i].element(k)));
      EXPECT_GT(largest, 0) << "nothing to compare in result " << i;
      for (int64_t k = 0; k < wanted[i].elements(); ++k)
        ASSERT_NEAR(found[i].element(k), wanted[i].element(k), tolerance * largest)
            << "result " << i << ", element " << k;
    }
  }

  std::vector<std::string> remarks(std::string_view pass) const {
    std::vector<std::string> texts;
    for (const Remark& remark : report_.remarks) {
      if (remark.pass == pass) texts.push_back(remark.text);
    }
    return texts;
  }

  cuda::testing::MockDriver driver_;
  CompileReport report_;
};

TEST_F(CudaLibraries, LayersAndTheirGradientsAgreeWithTheEvaluator) {
  for (const LayerCase& layer : kLayers) {
    for (const bool reverse : {false, true}) {
      for (const bool gradients : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, reverse {}, gradients {}", layer.name, reverse, gradients));
        const GraphPtr graph = parse_graph(layer_text(layer, reverse, gradients));
        const auto executable = compiled(graph, {.variant = "cudnn"});
        driver_.heal();
        const Literals given = drawn_inputs(*graph, 7, 1, false);
        for (int call = 0; call < 2; ++call)
          expect_near(graph, run(*executable, given), given, 4e-7);
        EXPECT_EQ(driver_.calls("cudnnRNNForward"), 0u) << "a step is a graph";
        EXPECT_THAT(remarks("cudnn"), ::testing::SizeIs(1));
        count("layers by cuDNN's mock", 1);
      }
    }
  }
}

/// A loop as people write it, twice: with a loss, and without.
constexpr const char* kCell = R"(
  graph @cell(%x: f32[6,3,4]) state (%w: f32[4,32], %u: f32[8,32], %b: f32[32]) {
    %h0 = constant {dtype = f32, shape = [3, 8], value = 0}
    %y, %h.end, %c.end = scan %x.t in %x carry %h = %h0, %c = %h0 with %w, %u, %b {
      %i, %f, %g, %o = split(add(add(matmul(%h, %u), %b), matmul(%x.t, %w))) {axis = 1, parts = 4}
      %c.1 = add(mul(%c, sigmoid(%f)), mul(tanh(%g), sigmoid(%i)))
      %h.1 = mul(tanh(%c.1), sigmoid(%o))
      next %h = %h.1, %c = %c.1
      emit %h.1
    }
    %loss = sum(square(%y)) {axes = [0, 1, 2]}
    %gw, %gu, %gb = grad %loss, %w, %u, %b
    next %w = sub(%w, mul(%gw, 0.1)), %u = sub(%u, mul(%gu, 0.1)), %b = sub(%b, mul(%gb, 0.1))
    return %loss
  })";

std::string plan_text(const std::string& graph, const char* variant) {
  CompileOptions options{.variant = variant};
  return targets::cuda.show(parse_graph(graph), options, "plan");
}

/// Layers whose operands are smaller than they could be, and broadcast.
TEST_F(CudaLibraries, WhatBroadcastsIsNoLayerOfALibrary) {
  struct Smaller {
    const char *from, *to;
  };
  const Smaller smaller[] = {
      {"%b: f32[15]", "%b: f32[1]"},     {"%b: f32[15]", "%b: f32[]"},
      {"%b: f32[15]", "%b: f32[3,15]"},  {"%w: f32[2,15]", "%w: f32[2,1]"},
      {"%u: f32[5,15]", "%u: f32[5,3]"}, {"%b_n: f32[5]", "%b_n: f32[1]"},
      {"%b_n: f32[5]", "%b_n: f32[]"},   {"%x: f32[4,3,2]", "%x: f32[4,1,2]"}};
  for (const auto& [from, to] : smaller) {
    SCOPED_TRACE(to);
    std::string text = layer_text(kLayers[1], false, false);
    ASSERT_NE(text.find(from), text.npos);
    text.replace(text.find(from), std::string_view(from).size(), to);
    const GraphPtr graph = parse_graph(text);
    const auto executable = compiled(graph, {.variant = "cudnn"});
    EXPECT_TRUE(remarks("cudnn").empty());
    const Literals given = drawn_inputs(*graph, 7, 1, false);
    expect_near(graph, run(*executable, given), given, 1e-6);
  }
  // The same of a loop that is written out, and of its gradient.
  std::string text = kCell;
  text.replace(text.find("%b: f32[32]"), 11, "%b: f32[1]");
  EXPECT_THAT(plan_text(text, "cudnn"), Not(HasSubstr("external %")));
}

TEST_F(CudaLibraries, ALoopThatIsAnLstmBecomesACallAndItsGradientAnother) {
  const std::string text = plan_text(kCell, "cudnn");
  EXPECT_THAT(text, HasSubstr("lstm, steps 6, batch 3, inputs 4, units 8, pair 0"));
  EXPECT_THAT(text, HasSubstr("lstm gradients, steps 6, batch 3, inputs 4, units 8, pair 0"));
  EXPECT_THAT(text, Not(HasSubstr("recurrent %")));
  EXPECT_THAT(plan_text(kCell, "fused"), Not(HasSubstr("external %")));
  // A cell that no library has stays a loop, whatever is asked for.
  std::string other = kCell;
  other.replace(other.find("tanh(%c.1)"), 10, "relu(%c.1)");
  EXPECT_THAT(plan_text(other, "cudnn"), Not(HasSubstr("external %")));
}

TEST_F(CudaLibraries, TheFasterOfCudnnAndOurOwnIsUsedAndRemembered) {
  const KernelFolder folder;
  const GraphPtr graph = parse_graph(kCell);
  compiled(graph, {.variant = "auto"});
  ASSERT_THAT(remarks("variant"), ::testing::SizeIs(1));
  EXPECT_THAT(remarks("variant")[0], HasSubstr("ms a step, cudnn "));
  EXPECT_GT(report_.tune_s, 0);
  const std::string chosen = remarks("variant")[0].substr(0, remarks("variant")[0].find(' '));
  // In the process, and from files: nothing is tried again.
  for (int turn = 0; turn < 2; ++turn) {
    compiled(graph, {.variant = "auto"});
    EXPECT_THAT(remarks("variant")[0], HasSubstr(chosen + " is used"));
    EXPECT_THAT(remarks("variant")[0], HasSubstr("decided before"));
    clear_code_caches();
  }
  // Where there is nothing to choose nobody is asked.
  compiled(parse_graph("graph @g(%x: f32[4]) {\n  return mul(%x, 2)\n}"), {.variant = "auto"});
  EXPECT_TRUE(remarks("variant").empty());
}

TEST_F(CudaLibraries, PrecisionsSayWhatCudnnMayRound) {
  const GraphPtr graph = parse_graph(layer_text(kLayers[0], false, true));
  for (const auto& [precision, math] :
       {std::pair(Precision::f32, ", fma"), std::pair(Precision::tf32x3, ", fma")}) {
    compiled(graph, {.precision = precision, .variant = "cudnn"});
    EXPECT_THAT(remarks("cudnn"), Contains(HasSubstr(math)));
  }
}

/// Products with and without a rest, of both ways that each operand can lie.
constexpr const char* kProducts = R"(
  graph @products(%a: f32[20,30], %b: f32[30,40], %c: f32[40,30], %d: f32[30,20], %bias: f32[40]) {
    %plain = matmul(%a, %b)
    %right = tanh(add(matmul(%a, %c) {transpose_b = true}, %bias))
    %left = mul(matmul(%d, %b) {transpose_a = true}, 3)
    %i, %j = split(sigmoid(matmul(%a, %b))) {axis = 1, parts = 2}
    return %plain, %right, %left, mul(%i, %j)
  })";

TEST_F(CudaLibraries, ProductsByCublasltAgreeWithTheEvaluator) {
  const GraphPtr graph = parse_graph(kProducts);
  const Literals given = drawn_inputs(*graph, 3, 1, false);
  for (const std::string variant : {"fused", "basic"}) {
    const auto executable =
        compiled(graph, {.variant = variant, .cuda = {.products = cuda::Products::cublaslt}});
    // In `basic` all four are products alone; in `fused` one of them is.
    EXPECT_THAT(remarks("products"), ::testing::Each(HasSubstr("by cuBLASLt")));
    EXPECT_GE(remarks("products").size(), 3u);
    expect_near(graph, run(*executable, given), given, 4e-7);
    count("products by cuBLASLt's mock", int64_t(remarks("products").size()));
  }
}

TEST_F(CudaLibraries, ProductsInOtherPrecisionsAreAsExactAsTheirs) {
  const GraphPtr graph = parse_graph(kProducts);
  const Literals whole = drawn_inputs(*graph, 3, 3, true);
  for (const auto& [precision, tolerance] :
       {std::pair(Precision::tf32, 4e-3), std::pair(Precision::bf16, 3e-2),
        std::pair(Precision::fp16, 4e-3)}) {
    const auto executable =
        compiled(graph, {.precision = precision, .cuda = {.products = cuda::Products::cublaslt}});
    const Literals given = drawn_inputs(*graph, 3, 1, false);
    expect_near(graph, run(*executable, given), given, tolerance);
    // Small whole numbers are themselves in each.
    expect_near(graph, run(*executable, whole), whole, 4e-7);
    EXPECT_FALSE(remarks("products").empty());
  }
  // Of the sum of two tf32 it has nothing.
  compiled(graph, {.precision = Precision::tf32x3, .cuda = {.products = cuda::Products::cublaslt}});
  EXPECT_TRUE(remarks("products").empty());
}

TEST_F(CudaLibraries, WithoutAWorkingLibraryWhatWasToBeTriedIsOurOwn) {
  const GraphPtr layer = parse_graph(kCell), products = parse_graph(kProducts);
  driver_.fail("cudnnCreate", 1001, 0);
  driver_.fail("cublasLtCreate", 1, 0);
  compiled(layer, {.variant = "auto"});
  EXPECT_THAT(remarks("variant"), Contains(HasSubstr("fused is used, without cudnn: cudnnCreate")));
  compiled(products, {.cuda = {.least_tried_work = 1}});
  EXPECT_THAT(remarks("products"), Contains(HasSubstr("by generated kernels: cublasLtCreate")));
  EXPECT_THAT(error_of(ErrorKind::resource, [&] { compiled(layer, {.variant = "cudnn"}); }),
              HasSubstr("cudnnCreate"));
  EXPECT_THAT(
      error_of(ErrorKind::resource,
               [&] { compiled(products, {.cuda = {.products = cuda::Products::cublaslt}}); }),
      HasSubstr("cublasLtCreate"));
  clear_code_caches();
}

TEST_F(CudaLibraries, WhatCouldNotBeTriedIsTriedTheNextTime) {
  const KernelFolder folder;
  const GraphPtr layer = parse_graph(kCell), products = parse_graph(kProducts);
  driver_.fail("cudnnGetRNNWeightParams", 5000, 1);
  driver_.fail("cublasLtMatmul", 13, 1);
  compiled(layer, {.variant = "auto"});
  EXPECT_THAT(remarks("variant"),
              Contains(HasSubstr("fused is used, without cudnn: cudnnGetRNNWeightParams")));
  compiled(products, {.cuda = {.least_tried_work = 1}});
  EXPECT_THAT(remarks("products"), Contains(HasSubstr("by a generated kernel: cublasLtMatmul")));
  driver_.heal();
  compiled(layer, {.variant = "auto"});
  EXPECT_THAT(remarks("variant"), Contains(HasSubstr("ms a step, cudnn ")));
  compiled(products, {.cuda = {.least_tried_work = 1}});
  EXPECT_GT(driver_.calls("cublasLtMatmulAlgoGetHeuristic"), 0u);
  EXPECT_THAT(remarks("products"), Not(Contains(HasSubstr(": cublasLt"))));
}

TEST_F(CudaLibraries, PlansShowWhichProductsALibraryDoes) {
  const GraphPtr graph = parse_graph(kProducts);
  EXPECT_THAT(targets::cuda.show(graph, {.cuda = {.products = cuda::Products::cublaslt}}, "plan"),
              HasSubstr("[20, 30] x [30, 40] by cuBLASLt, the rest by a kernel\n"));
  EXPECT_THAT(targets::cuda.show(graph, {.cuda = {.least_tried_work = 1}}, "plan"),
              HasSubstr("by cuBLASLt where that is faster"));
  EXPECT_THAT(targets::cuda.show(graph, {.cuda = {.products = cuda::Products::generated}}, "plan"),
              Not(HasSubstr("cuBLASLt")));
}

TEST_F(CudaLibraries, SmallProductsAreNotWorthAChoice) {
  compiled(parse_graph(kProducts), {});
  EXPECT_TRUE(remarks("products").empty());
}

TEST_F(CudaLibraries, AProductIsTriedOnceAndTheChoiceKept) {
  const KernelFolder folder;
  const GraphPtr graph = parse_graph(
      "graph @large(%a: f32[25,26], %b: f32[26,27]) {\n  return relu(matmul(%a, %b))\n}");
  const CompileOptions options{.cuda = {.least_tried_work = 25 * 26 * 27}};
  const auto first = compiled(graph, options);
  ASSERT_THAT(remarks("products"), ::testing::SizeIs(1));
  EXPECT_GT(driver_.calls("cublasLtMatmul"), 5u);
  for (int turn = 0; turn < 2; ++turn) {
    driver_.heal();
    const auto again = compiled(graph, options);
    EXPECT_LE(driver_.calls("cublasLtMatmul"), 1u) << "it is put into the graph of the step";
    EXPECT_EQ(driver_.calls("cublasLtMatmulAlgoGetHeuristic"), 0u);
    clear_code_caches();
  }
}

/// A loop that can have every placement.
constexpr const char* kPlacedLoop = R"(
  graph @loop(%x: f32[3,8,24], %h: f32[8,24], %u: f32[24,24]) {
    %y, %end = scan %x.t in %x carry %h.t = %h with %u {
      %n = tanh(add(matmul(%h.t, %u), %x.t))
      next %h.t = %n
      emit %n
    }
    return %y, %end
  })";

TEST_F(CudaLibraries, ALoopIsTriedInEveryPlacementAndTheFastestKept) {
  const KernelFolder folder;
  const GraphPtr graph = parse_graph(kPlacedLoop);
  const CompileOptions options{.cuda = {.least_tried_work = 3 * 8 * 24 * 24}};
  const Literals given = drawn_inputs(*graph, 3, 1, false);
  const auto first = compiled(graph, options);
  expect_near(graph, run(*first, given), given, 2e-6);
  ASSERT_THAT(remarks("placement"), ::testing::SizeIs(1));
  const std::string note = remarks("placement")[0];
  for (const char* placement : {"streamed ", "grid ", "cluster ", "block "})
    EXPECT_THAT(note.substr(note.find("tried: ")), HasSubstr(placement));
  for (int turn = 0; turn < 2; ++turn) {
    const auto again = compiled(graph, options);
    EXPECT_THAT(remarks("placement")[0], HasSubstr("tried before"));
    EXPECT_THAT(note, ::testing::StartsWith(remarks("placement")[0].substr(0, 20)));
    expect_near(graph, run(*again, given), given, 2e-6);
    clear_code_caches();
  }
  // One that is asked for is not compared with others, nor is a small loop.
  compiled(graph, {.cuda = {.placement = cuda::Placement::grid, .least_tried_work = 1}});
  EXPECT_THAT(remarks("placement")[0], Not(HasSubstr("tried")));
  compiled(graph, {});
  EXPECT_THAT(remarks("placement")[0], Not(HasSubstr("tried")));
}

TEST_F(CudaLibraries, OtherTargetsHaveNoSuchVariant) {
  CompileReport report;
  const GraphPtr graph = parse_graph(kCell);
  EXPECT_THAT(
      error_of(ErrorKind::usage,
               [&] { compile(graph, targets::cpu, {.variant = "cudnn"}, report); }),
      HasSubstr("target 'cpu' has no variant 'cudnn': it has basic, unrolled, fused, auto"));
  EXPECT_NO_THROW(compile(graph, targets::cpu, {.variant = "auto"}, report));
}

}  // namespace
}  // namespace graphc::core::testing

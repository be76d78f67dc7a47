// SPDX-License-Identifier: Apache-2.0
// Products on tensor cores, in every precision there is, through the mock driver: of small whole
// numbers, which every precision holds, exactly those of the evaluator; of others, as far from them
// as rounding the factors explains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "codegen/cuda/launches.h"
#include "codegen/cuda/machine.h"
#include "codegen/target.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "tests/codegen/wanted.h"
#include "tests/runtime/cuda/mock_driver.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/rounding_bound.h"

namespace graphc::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Literals = std::vector<Literal>;

GraphPtr parsed(const std::string& text) { return parse_graph(text); }

/// Inputs of the graph, drawn from a seed: whole numbers from -most to most, or any between.
Literals drawn(const Graph& graph, unsigned seed, double most, bool whole) {
  std::mt19937 random(seed);
  Literals inputs;
  for (Value input : graph.inputs()) {
    Literal literal(Type{DType::f64, input.shape()});
    for (double& x : literal.mutable_data<double>()) {
      x = std::uniform_real_distribution<double>(-most, most)(random);
      if (whole) x = std::round(x);
    }
    inputs.push_back(literal.converted(input.dtype()));
  }
  return inputs;
}

class CudaPrecision : public ::testing::TestWithParam<std::string_view> {
 protected:
  Literals run(const GraphPtr& graph, const Literals& given) {
    CompileReport report;
    CompileOptions options;
    options.precision = GetParam();
    options.placement = placement_;
    const auto executable = compile(graph, targets::cuda, options, report);
    std::vector<Tensor> inputs, outputs;
    for (const Literal& input : given) inputs.emplace_back(input);
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(inputs, outputs);
    Literals results;
    for (const Tensor& output : outputs) results.push_back(output.copy());
    return results;
  }

  /// Exactly what the evaluator has, for whole numbers up to `most`.
  void expect_exact(const std::string& text, double most, unsigned seed) {
    SCOPED_TRACE(text);
    const GraphPtr graph = parsed(text);
    const Literals inputs = drawn(*graph, seed, most, true);
    EXPECT_EQ(run(graph, inputs), evaluate(*graph, inputs).results);
  }

  /// What the evaluator has in f64, up to bounds; how large these are, next to the results.
  double expect_near(const GraphPtr& graph, unsigned seed, double most = 1) {
    const Literals inputs = drawn(*graph, seed, most, false);
    const BoundedResults wanted =
        evaluate_with_bounds(*graph, inputs, product_rounding(GetParam()));
    EXPECT_EQ(beyond_bound(run(graph, inputs), wanted), "");
    double values = 0, bounds = 0;
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      for (int64_t k = 0; k < wanted.values[i].elements(); ++k) {
        values += std::abs(wanted.values[i].element(k));
        bounds += wanted.bounds[i].element(k);
      }
    }
    return bounds / values;
  }

  double roundoff() const { return unit_roundoff(GetParam()); }

  cuda::testing::MockDriver driver_;
  const char* placement_ = "auto";
};

constexpr int kExtents[] = {1, 7, 8, 9, 15, 16, 17, 33, 65};

/// Every pair of extents of two axes occurs among these.
std::vector<std::array<int, 3>> shapes() {
  std::vector<std::array<int, 3>> all;
  for (size_t i = 0; i < std::size(kExtents); ++i) {
    for (size_t j = 0; j < std::size(kExtents); ++j)
      all.push_back({kExtents[i], kExtents[j], kExtents[(i + 2 * j) % std::size(kExtents)]});
  }
  return all;
}

TEST_P(CudaPrecision, ProductsOfWholeNumbersAreExact) {
  unsigned seed = 0;
  for (const auto& [m, k, n] : shapes()) {
    const bool of_left = seed % 3 == 1, of_right = seed % 2 == 1;
    expect_exact(fmt::format("graph @p(%a: f32[{}], %b: f32[{}]) {{\n  return matmul(%a, %b) "
                             "{{transpose_a = {}, transpose_b = {}}}\n}}",
                             of_left ? fmt::format("{},{}", k, m) : fmt::format("{},{}", m, k),
                             of_right ? fmt::format("{},{}", n, k) : fmt::format("{},{}", k, n),
                             of_left, of_right),
                 8, seed);
    ++seed;
  }
}

TEST_P(CudaPrecision, PartsPanelsAndSeveralProductsOfWholeNumbersAreExact) {
  for (const int parts : {2, 3, 4, 8, 12, 17}) {
    std::string names, sum;
    for (int part = 0; part < parts; ++part) {
      names += fmt::format("{}%p{}", part == 0 ? "" : ", ", part);
      sum = part == 0 ? "%p0" : fmt::format("sub(%p{}, {})", part, sum);
    }
    for (const auto& [m, k, n] : {std::array{9, 17, 7}, {33, 16, 17}, {65, 40, 33}}) {
      expect_exact(fmt::format("graph @parts(%a: f32[{0},{1}], %b: f32[{1},{2}]) {{\n"
                               "  {3} = split(matmul(%a, %b)) {{axis = 1, parts = {4}}}\n"
                               "  return {5}\n}}",
                               m, k, n * parts, names, parts, sum),
                   8, unsigned(parts));
    }
  }
  // Of long sums each piece is summed by itself.
  expect_exact("graph @long(%a: f32[17,600], %b: f32[600,9]) {\n  return matmul(%a, %b)\n}", 8, 1);
  expect_exact(
      "graph @two(%a: f32[17,20], %b: f32[20,33], %c: f32[17,9], %d: f32[9,33]) {\n"
      "  return add(matmul(%a, %b), mul(matmul(%c, %d), 3))\n}",
      8, 2);
  expect_exact("graph @batch(%a: f32[3,17,20], %b: f32[20,33]) {\n  return matmul(%a, %b)\n}", 8,
               3);
  expect_exact("graph @batches(%a: f32[3,17,20], %b: f32[3,20,9]) {\n  return matmul(%a, %b)\n}", 8,
               4);
}

TEST_P(CudaPrecision, LoopsOfWholeNumbersAreExact) {
  for (const auto& [placement, batch, hidden] : {std::tuple{"streamed", 1, 7},
                                                 {"streamed", 17, 33},
                                                 {"grid", 5, 16},
                                                 {"grid", 17, 33},
                                                 {"grid", 40, 65},
                                                 {"block", 1, 7},
                                                 {"block", 9, 33},
                                                 {"block", 40, 20}}) {
    placement_ = placement;
    SCOPED_TRACE(placement);
    expect_exact(
        fmt::format("graph @loop(%x: f32[5,{0},{1}], %h: f32[{0},{1}], %u: f32[{1},{1}]) {{\n"
                    "  %y, %end = scan %x.t in %x carry %h.t = %h with %u {{\n"
                    "    %s = add(matmul(%h.t, %u), %x.t)\n"
                    "    %n = maximum(minimum(%s, 8), -8)\n"
                    "    next %h.t = %n\n    emit %s\n  }}\n  return %y, %end\n}}",
                    batch, hidden),
        3, unsigned(hidden));
  }
}

TEST_P(CudaPrecision, ProductsAreAsNearAsTheirFactors) {
  unsigned seed = 0;
  for (const auto& [m, k, n] : {std::array{17, 33, 65}, {1, 65, 9}, {33, 600, 8}}) {
    const GraphPtr graph =
        parsed(fmt::format("graph @p(%a: f32[{0},{1}], %b: f32[{1},{2}]) {{\n"
                           "  return matmul(%a, %b)\n}}",
                           m, k, n));
    // A bound has the magnitudes of all terms; their sum is less by a factor of sqrt(k) or so.
    EXPECT_LT(expect_near(graph, ++seed), roundoff() * 60 + double(k) * 0x1p-16);
    // Small numbers have as many digits, but in f16.
    if (GetParam() != "fp16") {
      EXPECT_LT(expect_near(graph, ++seed, 1e-6), roundoff() * 60 + double(k) * 0x1p-16);
    }
  }
}

TEST_P(CudaPrecision, AnLstmAndItsDerivativeAreAsNearAsRoundingExplains) {
  const auto program = make_program("lstm-layer", {"hidden=9", "steps=3", "batch=5"});
  for (const auto& [what, placement] : {std::pair{"forward", "grid"},
                                        {"forward", "block"},
                                        {"train", "streamed"},
                                        {"train", "grid"},
                                        {"train", "block"}}) {
    placement_ = placement;
    SCOPED_TRACE(fmt::format("{}, {}", what, placement));
    const GraphPtr traced = program->model().trace(what, program->extents(what)).graph;
    const GraphPtr plain = run_pipeline(traced, parse_pipeline("autodiff")).graph;
    EXPECT_LT(expect_near(without_states(*plain), 3), 1e3);
  }
}

TEST_P(CudaPrecision, RoundsWhatItIsToldTo) {
  const GraphPtr graph =
      parsed("graph @p(%a: f32[20,30], %b: f32[30,40]) {\n  return matmul(%a, %b)\n}");
  const Literals inputs = drawn(*graph, 7, 1, false);
  const Literal found = run(graph, inputs)[0];
  const Literal exact = evaluate(*graph, inputs, {}, Precision::f64).results[0];
  double error = 0;
  for (int64_t i = 0; i < found.elements(); ++i)
    error = std::max(error, std::abs(found.element(i) - exact.element(i)));
  // Of 800 sums of 30 products the largest error is a few roundings: more would be another defect,
  // and much less another precision.
  EXPECT_LT(error, 8 * roundoff() + 0x1p-18);
  EXPECT_GT(error, roundoff() / 4);
}

INSTANTIATE_TEST_SUITE_P(In, CudaPrecision, ::testing::ValuesIn(cuda::kPrecisions),
                         [](const auto& precision) {
                           std::string name(precision.param);
                           return name == "3xtf32" ? "split_tf32" : name;
                         });

std::string text_of(const std::string& graph, std::string_view precision,
                    std::string_view architecture = "sm_80") {
  CompileReport report;
  const Plan plan = make_plan(*form_kernels_for(parsed(graph), {}, report),
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
  const std::pair<const char*, const char*> instructions[] = {
      {"tf32", "f32.tf32.tf32.f32"},
      {"3xtf32", "f32.tf32.tf32.f32"},
      {"bf16", "f32.bf16.bf16.f32"},
      {"fp16", "f32.f16.f16.f32"},
  };
  EXPECT_THAT(text_of(kProduct, "f32"), Not(HasSubstr("mma.sync")));
  for (const auto& [precision, instruction] : instructions)
    EXPECT_THAT(text_of(kProduct, precision), HasSubstr(instruction)) << precision;
}

TEST(CudaPrecisions, NeedAGpuThatHasThem) {
  for (const char* precision : {"tf32", "3xtf32", "bf16", "fp16"}) {
    EXPECT_THAT(
        error_of(ErrorKind::resource, [&] { cuda::gpu_machine(precision, "sm_75"); }),
        HasSubstr(fmt::format("precision '{}' needs tensor cores of sm_80 or newer: found sm_75",
                              precision)));
    EXPECT_NO_THROW(cuda::gpu_machine(precision, "compute_100"));
  }
  EXPECT_NO_THROW(cuda::gpu_machine("f32", "sm_75"));
}

TEST(CudaPrecisions, OfBf16AreTheirOwn) {
  EXPECT_THAT(text_of(kProductOfBf16, "f32"), HasSubstr("f32.bf16.bf16.f32"));
  EXPECT_THAT(text_of(kProductOfBf16, "tf32"), HasSubstr("f32.bf16.bf16.f32"));
  EXPECT_THAT(text_of(kProductOfBf16, "f32", "sm_75"), Not(HasSubstr("mma.sync")));
  const cuda::testing::MockDriver driver;
  const GraphPtr graph = parsed(kProductOfBf16);
  CompileReport report;
  const auto executable = compile(graph, targets::cuda, {}, report);
  for (const bool whole : {true, false}) {
    const Literals given = drawn(*graph, 5, whole ? 4 : 1, whole);
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
}  // namespace graphc::testing

// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/precision_trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "tests/codegen/wanted.h"
#include "tests/testing/rounding_bound.h"
#include "tests/testing/samples.h"

namespace graphc::core::testing {

using Literals = std::vector<Literal>;

void PrintTo(const PrecisionCase& which, std::ostream* out) { *out << which.name; }

Literals drawn_inputs(const Graph& graph, unsigned seed, double most, bool whole) {
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

void PrecisionTrial::SetUp() {
  if (GetParam().device) device_ = GetParam().device();
}

double PrecisionTrial::roundoff() const { return unit_roundoff(GetParam().precision); }

Literals PrecisionTrial::run(const GraphPtr& graph, const Literals& given) {
  CompileReport report;
  CompileOptions options;
  options.precision = GetParam().precision;
  options.architecture = GetParam().architecture;
  options.cuda.placement = placement_;
  const auto executable = compile(graph, *GetParam().target, options, report);
  std::vector<Tensor> inputs, outputs;
  for (const Literal& input : given) inputs.emplace_back(input);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(inputs, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

void PrecisionTrial::expect_exact(const std::string& text, double most, unsigned seed) {
  SCOPED_TRACE(text);
  const GraphPtr graph = parse_graph(text);
  const Literals inputs = drawn_inputs(*graph, seed, most, true);
  EXPECT_EQ(run(graph, inputs), evaluate(*graph, inputs).results);
}

GraphPtr PrecisionTrial::as_stored(const GraphPtr& graph) const {
  if (!GetParam().target->kernels.stores_bf16 || GetParam().precision != Precision::bf16)
    return graph;
  Pipeline pipeline = standard_pipeline("fused");
  for (PassUse& use : kernel_pipeline("fused", true)) {
    if (use.pass->name != "fuse") pipeline.push_back(std::move(use));
  }
  return run_pipeline(graph, pipeline).graph;
}

double PrecisionTrial::expect_near(const GraphPtr& graph, unsigned seed, double most) {
  const Literals inputs = drawn_inputs(*graph, seed, most, false);
  const BoundedResults wanted =
      evaluate_with_bounds(*as_stored(graph), inputs, product_rounding(GetParam().precision));
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

namespace {

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

TEST_P(PrecisionTrial, ProductsOfWholeNumbersAreExact) {
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

TEST_P(PrecisionTrial, PartsPanelsAndSeveralProductsOfWholeNumbersAreExact) {
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

TEST_P(PrecisionTrial, ProductsOfWhatIsWidenedAreExact) {
  // On the left and the right, transposed, in another shape, batched, and what is read otherwise
  // too.
  for (const std::string products :
       {"matmul(%a, %b)", "matmul(%a, %w)", "matmul(%v, %b)",
        "matmul(%w, %v) {transpose_a = true, transpose_b = true}",
        "matmul(%a, transpose(%b) {permutation = [1,0]}) {transpose_b = true}",
        "matmul(%a, %b), sum(%a) {axes = [0]}", "matmul(%a, %b), mul(%a, 3)", "matmul(%a, %b), %a",
        "matmul(reshape(%a) {shape = [3,11,17]}, reshape(%q) {shape = [3,17,5]})",
        "matmul(slice(%a) {axis = 1, start = 3, limit = 11}, "
        "slice(%b) {axis = 0, start = 2, limit = 10})"}) {
    expect_exact(fmt::format("graph @p(%a16: bf16[33,17], %b16: bf16[17,33], %q16: bf16[51,5],\n"
                             "         %v: f32[33,17], %w: f32[17,33]) {{\n"
                             "  %a = cast %a16 {{dtype = f32}}\n"
                             "  %b = cast %b16 {{dtype = f32}}\n"
                             "  %q = cast %q16 {{dtype = f32}}\n"
                             "  return {}\n}}",
                             products),
                 8, 3);
  }
}

TEST_P(PrecisionTrial, LoopsOfWholeNumbersAreExact) {
  const bool one_placement = GetParam().placements.size() == 1;
  size_t number = size_t(GetParam().precision);
  for (const auto& placement : GetParam().placements) {
    placement_ = placement;
    SCOPED_TRACE(name_of(placement));
    // Placements, and so precisions, take turns.
    ++number;
    for (const auto& [batch, hidden] :
         {std::array{1, 7}, {5, 16}, {9, 33}, {17, 33}, {40, 20}, {40, 65}}) {
      if (!one_placement && !is_sampled(number++, 5)) continue;
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
}

TEST_P(PrecisionTrial, ProductsAreAsNearAsTheirFactors) {
  unsigned seed = 0;
  for (const auto& [m, k, n] : {std::array{17, 33, 65}, {1, 65, 9}, {33, 600, 8}}) {
    const GraphPtr graph =
        parse_graph(fmt::format("graph @p(%a: f32[{0},{1}], %b: f32[{1},{2}]) {{\n"
                                "  return matmul(%a, %b)\n}}",
                                m, k, n));
    // A bound has the magnitudes of all terms; their sum is less by a factor of sqrt(k) or so.
    EXPECT_LT(expect_near(graph, ++seed), roundoff() * 60 + double(k) * 0x1p-16);
    // Small numbers have as many digits, but in f16.
    if (GetParam().precision != Precision::fp16) {
      EXPECT_LT(expect_near(graph, ++seed, 1e-6), roundoff() * 60 + double(k) * 0x1p-16);
    }
  }
}

TEST_P(PrecisionTrial, AnLstmAndItsDerivativeAreAsNearAsRoundingExplains) {
  const auto program = make_program("lstm-layer", {"hidden=9", "steps=3", "batch=5"});
  for (const auto& placement : GetParam().placements) {
    for (const char* what : {"forward", "train"}) {
      placement_ = placement;
      SCOPED_TRACE(fmt::format("{}, {}", what, name_of(placement)));
      const GraphPtr traced = program->model().trace(what, program->extents(what)).graph;
      const GraphPtr plain = run_pipeline(traced, parse_pipeline("autodiff")).graph;
      EXPECT_LT(expect_near(without_states(*plain), 3), 1e3);
    }
  }
}

TEST_P(PrecisionTrial, RoundsWhatItIsToldTo) {
  const GraphPtr graph =
      parse_graph("graph @p(%a: f32[20,30], %b: f32[30,40]) {\n  return matmul(%a, %b)\n}");
  const Literals inputs = drawn_inputs(*graph, 7, 1, false);
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

}  // namespace
}  // namespace graphc::core::testing

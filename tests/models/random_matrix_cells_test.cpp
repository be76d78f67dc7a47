// SPDX-License-Identifier: Apache-2.0
// Random cells whose rows carry a matrix, random cells with a matrix for each head, with masks, and
// random cells that divide and merge axes: compiled for every target they agree with the evaluator
// in f64, and their gradients with central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/compile.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/counts.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/random_divided_cell.h"
#include "tests/testing/random_head_cell.h"
#include "tests/testing/random_matrix_cell.h"
#include "tests/testing/rounding_bound.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core {
namespace {

using MatrixLiterals = std::vector<Literal>;

/// Whether the input has a derivative among the graph's results.
bool is_varied(Value input) { return input.dtype() == DType::f32 && input.name() != "mask"; }

/// The derivative along a random direction against a central difference of the loss, in f64.
void expect_slope(const Graph& graph, const MatrixLiterals& inputs, const MatrixLiterals& results,
                  unsigned seed) {
  std::mt19937 random(seed);
  constexpr double kStep = 1e-6;
  double along = 0;
  MatrixLiterals high = inputs, low = inputs;
  size_t gradient = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_varied(graph.inputs()[i])) continue;
    const auto slope = results[gradient++].data<double>();
    auto up = high[i].mutable_data<double>(), down = low[i].mutable_data<double>();
    for (size_t k = 0; k < up.size(); ++k) {
      const double direction = std::normal_distribution<double>()(random);
      along += slope[k] * direction;
      up[k] += kStep * direction;
      down[k] -= kStep * direction;
    }
  }
  ASSERT_EQ(gradient, results.size());
  const auto loss = [&](const MatrixLiterals& at) {
    return evaluate(graph, at, {}, Precision::f64).results[0].element(0);
  };
  const double difference = (loss(high) - loss(low)) / (2 * kStep);
  EXPECT_NE(along, 0);
  EXPECT_NEAR(along, difference, 1e-5 * std::max(1.0, std::abs(difference)));
}

MatrixLiterals results_of(const GraphPtr& graph, const MatrixLiterals& inputs,
                          const testing::TargetLevel& level, const CompileOptions& options) {
  CompileReport report;
  const auto executable = compile(graph, level.target(), level.options(options), report);
  std::vector<Tensor> given, outputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.emplace_back(inputs[i].converted(graph->inputs()[i].dtype()));
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(given, outputs);
  MatrixLiterals found;
  for (const Tensor& output : outputs) found.push_back(output.copy());
  return found;
}

void expect_compiled(const GraphPtr& graph, const MatrixLiterals& inputs,
                     const testing::BoundedResults& wanted, const testing::TargetLevel& level,
                     CompileOptions options) {
  SCOPED_TRACE(level.text() + " " + options.variant);
  const MatrixLiterals found = results_of(graph, inputs, level, options);
  ASSERT_EQ(testing::beyond_bound(found, wanted), "");
  // A bound may be large, or none; the errors of these cells never are. The terms of the loss may
  // cancel: it moves by the derivatives times the rounding of what it depends on.
  const auto largest = [&](size_t i) {
    double scale = 1e-2;
    for (int64_t k = 0; k < found[i].elements(); ++k)
      scale = std::max(scale, std::abs(wanted.values[i].element(k)));
    return scale;
  };
  for (size_t i = 0; i < found.size(); ++i) {
    double scale = largest(i);
    for (size_t gradient = 1; i == 0 && gradient < found.size(); ++gradient)
      scale = std::max(scale, largest(gradient));
    for (int64_t k = 0; k < found[i].elements(); ++k)
      ASSERT_NEAR(wanted.values[i].element(k), found[i].element(k), 1e-5 * scale)
          << "result " << i << " element " << k;
  }
  if (!level.takes("threads")) return;
  options.threads = 4 - options.threads;
  const MatrixLiterals shared_out = results_of(graph, inputs, level, options);
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(found[i] == shared_out[i]) << "result " << i << " on other threads";
}

/// How many graphs were compiled of the cells that `cell` draws.
int64_t expect_right(GraphPtr (*cell)(unsigned seed), unsigned seeds) {
  int64_t compiled = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const GraphPtr traced = cell(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*traced)));
    const GraphPtr plain = run_pipeline(traced, parse_pipeline("autodiff")).graph;
    const MatrixLiterals inputs = testing::random_cell_inputs(*plain, seed);
    const testing::BoundedResults wanted = testing::evaluate_with_bounds(*plain, inputs);
    expect_slope(*plain, inputs, wanted.values, seed);
    for (const testing::TargetLevel& level : testing::target_levels_for(seed, seed / 2)) {
      const char* variant = seed % 4 == 3 ? "basic" : "fused";
      expect_compiled(
          traced, inputs, wanted, level,
          {.variant = variant,
           .remat = seed % 5 < 2 ? std::to_string(1 + seed % 3) : "auto",
           .recurrence = seed % 2 == 1 ? fmt::format("chunks={}", 2 + seed % 3) : "auto",
           .threads = seed % 3 == 0 ? 1 : 2});
      ++compiled;
    }
    if (::testing::Test::HasFatalFailure()) break;
  }
  return compiled;
}

TEST(RandomMatrixCellsCpu, AreRightOnEveryTarget) {
  const unsigned seeds = testing::whole_samples() ? 300 : 15;
  testing::count("random cells with matrices", expect_right(testing::random_matrix_cell, seeds));
}

TEST(RandomHeadCellsCpu, AreRightOnEveryTarget) {
  const unsigned seeds = testing::whole_samples() ? 300 : 25;
  testing::count("random cells with heads", expect_right(testing::random_head_cell, seeds));
}

TEST(RandomDividedCellsCpu, AreRightOnEveryTarget) {
  const unsigned seeds = testing::whole_samples() ? 400 : 25;
  testing::count("random cells that divide axes",
                 expect_right(testing::random_divided_cell, seeds));
}

}  // namespace
}  // namespace graphc::core

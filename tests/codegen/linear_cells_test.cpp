// SPDX-License-Identifier: Apache-2.0
// Loops of linear recurrences in chunks of steps, compiled, and the products of batches of matrices
// that they are made of.
#include "tests/testing/linear_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "codegen/compile.h"
#include "codegen/lower/lower.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/codegen/replay_plan.h"
#include "tests/passes/values.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The largest difference, relative to the largest element of each result.
double largest_difference(const std::vector<Literal>& found, const std::vector<Literal>& wanted) {
  double largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    double scale = 1e-30, difference = 0;
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      const double error = std::abs(found[i].element(k) - wanted[i].element(k));
      scale = std::max(scale, std::abs(wanted[i].element(k)));
      difference = std::isnan(error) ? INFINITY : std::max(difference, error);
    }
    largest = std::max(largest, difference / scale);
  }
  return largest;
}

std::vector<Literal> compiled_results(const GraphPtr& graph, const std::vector<Literal>& inputs,
                                      const testing::TargetLevel& level,
                                      const CompileOptions& options) {
  CompileReport report;
  const auto executable = compile(graph, level.target(), level.options(options), report);
  std::vector<Tensor> given, outputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.emplace_back(inputs[i].converted(graph->inputs()[i].dtype()));
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(given, outputs);
  std::vector<Literal> found;
  for (const Tensor& output : outputs) found.push_back(output.copy());
  return found;
}

class LinearCellsCpu : public ::testing::TestWithParam<testing::LinearCell> {};

TEST_P(LinearCellsCpu, InChunksAgreeWithTheEvaluator) {
  unsigned number = 0;
  for (const int64_t steps : {5, 18}) {
    const GraphPtr graph = testing::with_gradients(graph_of(GetParam(), steps));
    const testing::Arguments arguments = testing::random_arguments(*graph, unsigned(steps));
    const GraphPtr plain = testing::after(graph, "autodiff,expand");
    std::vector<Literal> single;
    for (size_t i = 0; i < arguments.inputs.size(); ++i)
      single.push_back(arguments.inputs[i].converted(graph->inputs()[i].dtype()));
    std::vector<Literal> exact;
    for (size_t i = 0; i < single.size(); ++i)
      exact.push_back(single[i].converted(arguments.inputs[i].type().dtype));
    const std::vector<Literal> wanted = evaluate(*plain, exact, {}, Precision::f64).results;
    // What one step after another loses by rounding to f32.
    const double rounding =
        largest_difference(evaluate(*plain, single, {}, Precision::f32).results, wanted);
    for (const testing::TargetLevel& level : testing::target_levels_for(number, number)) {
      const char* recurrence = steps == 5 ? "chunks=3" : "chunks=16";
      SCOPED_TRACE(fmt::format("{}, {}, {} steps", level.text(), recurrence, steps));
      const int threads = 1 + int(++number % 3);
      const auto found =
          compiled_results(graph, single, level, {.recurrence = recurrence, .threads = threads});
      EXPECT_LT(largest_difference(found, wanted), std::max(2e-6, 4 * rounding));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, LinearCellsCpu, ::testing::ValuesIn(testing::linear_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

Plan batched_plan(const std::string& text, int workers, const CompileOptions& options = {}) {
  CompileReport report;
  return make_plan(*form_kernels_for(parse_graph(text), options, report),
                   testing::machine_like(0, workers));
}

TEST(BatchedProducts, AreOneNestWhoseMatricesAreSharedOut) {
  const Plan plan =
      batched_plan("graph (%a: f32[2,8,3,5], %b: f32[2,8,5,7]) { return matmul(%a, %b) }", 2);
  EXPECT_THAT(print(plan), HasSubstr("over 3 rows x 7 columns, 16 times; outer 0..8 | 8..16"));
}

TEST(BatchedProducts, OfFewMatricesShareOutRows) {
  const Plan plan =
      batched_plan("graph (%a: f32[3,6,5], %b: f32[3,5,7]) { return matmul(%a, %b) }", 2);
  EXPECT_THAT(print(plan), HasSubstr("over 6 rows x 7 columns, 3 times; rows 0..3 | 3..6"));
}

/// The products of a row with its own matrices need no other worker: no barrier in the loop.
TEST(BatchedProducts, KeepTheRowsOfALoopApart) {
  // Nine rows for each matrix: few would be sums (passes/vector_products.cpp).
  const std::string loop =
      "graph (%a: f32[9,4,9,12], %s0: f32[4,12,12]{0}) {{ %o, %s.e = scan %x in %a carry %s = %s0 "
      "{1} "
      "{{ next %s = add(mul(%s, 0.5), matmul(%x, %x) {{transpose_a = true}}) emit matmul(%x, {2}) "
      "}} return %o, %s.e }}";
  const std::string own = print(batched_plan(fmt::format(fmt::runtime(loop), "", "", "%s"), 2));
  EXPECT_THAT(own, HasSubstr("9 steps, row by row"));
  EXPECT_THAT(own, HasSubstr("12 columns, 4 times; outer 0..2 | 2..4"));
  // One matrix for all rows is a product of all rows at once.
  const std::string shared =
      print(batched_plan(fmt::format(fmt::runtime(loop), ", %w: f32[12,6]", "with %w", "%w"), 2,
                         {.variant = "basic"}));
  EXPECT_THAT(shared, Not(HasSubstr("row by row")));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and their gradients at 1 to 30 steps, 1 to 20 rows, 1 to 64 units against what
// PyTorch computed in f64: the evaluator to 1e-10, compiled code as far as f32 goes, on every
// second of the extents, among which are all pairs of steps, rows and units, or with whole samples
// (tests/testing/samples.h) on all.
#include "tests/testing/wide_golden.h"

#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "passes/pipeline.h"
#include "tests/testing/counts.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

class WideGolden : public ::testing::TestWithParam<std::string> {};
class WideGoldenCpu : public ::testing::TestWithParam<std::string> {};

TEST_P(WideGolden, TheEvaluatorAgreesWithPyTorch) {
  const auto arrays = golden_arrays("wide_" + GetParam());
  int64_t vectors = 0;
  for (const WideCase& c : wide_cases(GetParam())) {
    const GraphPtr graph =
        run_pipeline(wide_layer(c, Derivatives::with), parse_pipeline("autodiff")).graph;
    const auto results = evaluate(*graph, wide_inputs(c), {}, Precision::f64).results;
    for (const WideDifference& d : compare(c, results, arrays)) {
      EXPECT_LT(d.difference, 1e-10 * d.scale) << c.name() << ": " << d.name;
      ++vectors;
    }
  }
  count("golden vectors", vectors);
}

// A result of f32 is off by 2^-24 of the numbers it is made of for each rounding on its way; over
// up to 30 steps of up to 64 terms, forth and back, such errors add up like random ones, to some
// tens of them. The largest found is 5.4e-6 of the scale (a loss of 38,400 products), elsewhere
// 2.1e-6; other vector widths round otherwise.
constexpr double kTolerance = 2e-5;

TEST_P(WideGoldenCpu, CompiledCodeAgreesWithPyTorch) {
  const auto arrays = golden_arrays("wide_" + GetParam());
  int64_t vectors = 0, in_emulator = 0;
  unsigned turn = 0;
  size_t number = 0;
  const auto expect_close = [&](const WideCase& c, const TargetLevel& level) {
    SCOPED_TRACE(c.name() + " on " + level.text());
    const CompileOptions options = level.options(
        {.variant = turn % 5 == 4 ? "basic" : "fused", .threads = turn / 3 % 2 == 0 ? 1 : 2});
    CompileReport report;
    const auto executable =
        compile(wide_layer(c, Derivatives::with), level.target(), options, report);
    std::vector<Tensor> inputs, outputs;
    for (const Literal& input : wide_inputs(c)) inputs.emplace_back(input);
    for (const Argument& output : executable->signature().outputs)
      outputs.emplace_back(output.type);
    executable->run(inputs, outputs);
    std::vector<Literal> results;
    for (const Tensor& output : outputs) results.push_back(output.copy());
    for (const WideDifference& d : compare(c, results, arrays)) {
      EXPECT_LT(d.difference, kTolerance * d.scale) << d.name;
      ++vectors;
      in_emulator += level.is_cuda() ? 1 : 0;
    }
  };
  for (const WideCase& c : wide_cases(GetParam())) {
    if (!is_sampled(number++, 3)) continue;
    // The largest cases are not among the few of the targets that are interpreted.
    for (const TargetLevel& level : target_levels_for(turn + 2, turn)) expect_close(c, level);
    ++turn;
  }
  count("golden vectors", vectors);
  count("golden vectors in the emulator", in_emulator);
}

const auto name_of_cell = [](const auto& cell) { return cell.param; };
INSTANTIATE_TEST_SUITE_P(Cells, WideGolden, ::testing::ValuesIn(wide_cells()), name_of_cell);
INSTANTIATE_TEST_SUITE_P(Cells, WideGoldenCpu, ::testing::ValuesIn(wide_cells()), name_of_cell);

}  // namespace
}  // namespace graphc::core::testing

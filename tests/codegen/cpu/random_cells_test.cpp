// SPDX-License-Identifier: Apache-2.0
// A hundred random cells: each is one recurrent kernel forward and one backward with as many
// stages, agrees with the f64 evaluator when compiled, and its gradients agree with finite
// differences.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/targets/cpu/compiled_plan.h"
#include "ir/evaluate.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "passes/kernels/kernel.h"
#include "passes/pipeline.h"
#include "tests/testing/random_cell.h"
#include "tests/testing/rounding_bound.h"
#include "tests/testing/samples.h"

namespace graphc::core {
namespace {

using Literals = std::vector<Literal>;

std::vector<const Node*> recurrent_kernels(const Graph& kernels) {
  std::vector<const Node*> found;
  for (const Node& node : kernels.nodes()) {
    EXPECT_FALSE(node.is(ops::scan)) << "a loop: %" << node.names[0];
    if (is_kernel_of(node, Family::recurrent)) found.push_back(&node);
  }
  return found;
}

int stages_of(const Node& node) {
  const Kernel kernel(node);
  return kernel.rows() ? kernel.rows()->stages : -1;
}

/// The derivative along a random direction against a central difference of the loss, in f64.
void check_gradient(const Graph& graph, const Literals& inputs, const Literals& results,
                    unsigned seed) {
  std::mt19937 random(seed);
  const double h = 1e-5;
  double along = 0;
  Literals high = inputs, low = inputs;
  size_t gradient = 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == DType::boolean) continue;
    const auto slope = results[gradient++].data<double>();
    auto up = high[i].mutable_data<double>(), down = low[i].mutable_data<double>();
    for (size_t k = 0; k < up.size(); ++k) {
      const double direction = std::normal_distribution<double>()(random);
      along += slope[k] * direction;
      up[k] += h * direction;
      down[k] -= h * direction;
    }
  }
  const auto loss = [&](const Literals& at) {
    return evaluate(graph, at, {}, Precision::f64).results[0].element(0);
  };
  const double difference = (loss(high) - loss(low)) / (2 * h);
  EXPECT_NE(along, 0);
  EXPECT_NEAR(along, difference, 1e-5 * std::max(1.0, std::abs(difference)));
}

void check_compiled(const Graph& kernels, const Literals& inputs,
                    const testing::BoundedResults& wanted) {
  for (int threads : {1, 2}) {
    cpu::CompiledPlan program(kernels, cpu::host_cpu(), std::make_shared<ThreadTeam>(threads));
    Literals arguments, found;
    std::vector<void*> in, out;
    for (size_t i = 0; i < inputs.size(); ++i)
      arguments.push_back(inputs[i].converted(kernels.inputs()[i].dtype()));
    for (Literal& argument : arguments) in.push_back(argument.mutable_bytes().data());
    for (Value result : kernels.results()) found.emplace_back(result.type());
    for (Literal& result : found) out.push_back(result.mutable_bytes().data());
    program.run(in, {}, out);
    ASSERT_EQ(testing::beyond_bound(found, wanted), "") << "with " << threads << " threads";
    // A bound may be large, or none; the errors of these cells never are.
    for (size_t i = 0; i < found.size(); ++i) {
      double scale = 1e-2;
      for (int64_t k = 0; k < found[i].elements(); ++k)
        scale = std::max(scale, std::abs(wanted.values[i].element(k)));
      for (int64_t k = 0; k < found[i].elements(); ++k) {
        ASSERT_NEAR(wanted.values[i].element(k), found[i].element(k), 1e-5 * scale)
            << "result " << i << " element " << k << " with " << threads << " threads";
      }
    }
  }
}

TEST(RandomCellsCpu, OneKernelEachWayAndRight) {
  int several_stages = 0;
  for (unsigned seed = 0; seed < testing::half_of(50); ++seed) {
    const GraphPtr traced = testing::random_cell(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print(*traced)));
    const GraphPtr graph = run_pipeline(traced, standard_pipeline("fused")).graph;
    const PipelineResult formed = run_pipeline(graph, kernel_pipeline("fused"));
    const GraphPtr kernels = formed.graph;
    for (const Remark& remark : formed.remarks.all())
      ADD_FAILURE() << remark.node << ": " << remark.text;
    const std::vector<const Node*> recurrent = recurrent_kernels(*kernels);
    ASSERT_EQ(recurrent.size(), 2u) << print(*kernels);
    EXPECT_EQ(stages_of(*recurrent[0]), stages_of(*recurrent[1])) << print(*kernels);
    several_stages += stages_of(*recurrent[0]) > 1;
    const Literals inputs = testing::random_cell_inputs(*graph, seed);
    const GraphPtr plain = run_pipeline(traced, parse_pipeline("autodiff")).graph;
    const testing::BoundedResults wanted = testing::evaluate_with_bounds(*plain, inputs);
    check_gradient(*graph, inputs, wanted.values, seed);
    check_compiled(*kernels, inputs, wanted);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(several_stages, 5);
}

}  // namespace
}  // namespace graphc::core

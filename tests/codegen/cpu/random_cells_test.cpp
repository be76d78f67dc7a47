// SPDX-License-Identifier: Apache-2.0
// A hundred random cells: each is one recurrent kernel forward and one backward with as many
// stages, agrees with the f64 evaluator when compiled, and its gradients agree with finite
// differences.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/cpu/compiled_plan.h"
#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/scan.h"
#include "ir/text.h"
#include "passes/kernels/kernel.h"
#include "passes/kernels/row_model.h"
#include "passes/pipeline.h"
#include "tests/testing/rounding_bound.h"

namespace graphc {
namespace {

using Literals = std::vector<Literal>;
constexpr int64_t kSteps = 4, kRows = 5;

/// Draws a cell: 1-3 carried states, 1-3 products, elementwise work, perhaps a sum along the row
/// and a mask. Every state's next value depends on all states, so that the carries form one cycle.
class RandomCell {
 public:
  explicit RandomCell(unsigned seed) : random_(seed), units_(3 + int64_t(seed) % 18) {}

  /// The training graph: loss and the derivative of every input that is not a mask.
  GraphPtr training_graph() {
    auto graph = std::make_unique<Graph>("train");
    GraphPtr body = make_body();
    Values streams, initial, captures, leaves;
    for (size_t i = 0; i < body->inputs().size(); ++i) {
      const Value inner = body->inputs()[i];
      const bool stream = i < streams_;
      Type type = inner.type();
      if (stream) type.shape = type.shape.insert(0, kSteps);
      const Value outer = graph->input(type, inner.name());
      (stream ? streams : i < streams_ + carries_ ? initial : captures).push_back(outer);
      if (type.dtype == DType::f32) leaves.push_back(outer);
    }
    const Node& scan = add_scan(*graph, {streams, initial, captures, body, kSteps, reverse_});
    Value loss = sum(square(scan.result(0)));
    for (int i = 1; i < scan.results(); ++i) loss = loss + sum(scan.result(i));
    Values operands{loss};
    operands.insert(operands.end(), leaves.begin(), leaves.end());
    const Node& gradients = graph->add(ops::grad, operands);
    Values results{loss};
    for (int i = 0; i < gradients.results(); ++i) results.push_back(gradients.result(i));
    graph->set_results(results);
    return freeze(std::move(graph));
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  Value pick(const Values& values) { return values[size_t(draw(0, int(values.size()) - 1))]; }

  Value local(Value a, Value b) {
    switch (draw(0, 5)) {
      case 0:
        return tanh(a) * sigmoid(b);
      case 1:
        return tanh(a + b);
      case 2:
        return sigmoid(a) * b;
      case 3:
        return a * 0.5 - tanh(b);
      case 4:
        return exp(neg(square(a))) + b * 0.25;
      default:
        return sigmoid(a - b) * 2.0 - 1.0;
    }
  }

  GraphPtr make_body() {
    auto body = std::make_unique<Graph>("cell");
    reverse_ = draw(0, 1) == 1;
    carries_ = size_t(draw(1, 3));
    const int products = draw(1, 3);
    const bool chained = draw(0, 2) == 0, masked = draw(0, 2) == 0, reduced = draw(0, 3) == 0;
    const Type state{DType::f32, {kRows, units_}};
    Values inputs, states, matrices;
    for (int p = 0; p < products; ++p) inputs.push_back(body->input(state, fmt::format("x{}", p)));
    Value mask;
    if (masked) mask = body->input({DType::boolean, {kRows, 1}}, "mask");
    streams_ = size_t(products) + size_t(masked);
    for (size_t i = 0; i < carries_; ++i)
      states.push_back(body->input(state, fmt::format("s{}", i)));
    for (int p = 0; p < products; ++p) {
      matrices.push_back(body->input({DType::f32, {units_, units_}}, fmt::format("u{}", p)));
    }
    Values pool = states;
    for (int p = 0; p < products; ++p) {
      const Value from = chained && p > 0 ? tanh(pool.back()) : states[size_t(p) % carries_];
      pool.push_back(inputs[size_t(p)] + matmul(from, matrices[size_t(p)]));
    }
    for (int i = draw(1, 4); i > 0; --i) pool.push_back(local(pick(pool), pick(pool)));
    if (reduced) {
      const Value x = pool.back();
      pool.push_back(x - sum(x, std::vector<int64_t>{1}, true) * (1.0 / double(units_)));
    }
    Value all = pool.back();
    for (Value product : Values(pool.begin() + long(carries_), pool.end()))
      all = all + product * 0.3;
    for (Value s : states) all = all + s * 0.1;
    Values results;
    for (Value s : states) {
      const Value next = sigmoid(pick(pool)) * s + sigmoid(all) * tanh(local(all, pick(pool)));
      results.push_back(masked ? select(mask, next, s) : next);
    }
    results.push_back(pick(Values(results.begin(), results.end())));
    body->set_results(results);
    return freeze(std::move(body));
  }

  std::mt19937 random_;
  int64_t units_;
  size_t streams_ = 0, carries_ = 0;
  bool reverse_ = false;
};

Literals random_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  Literals inputs;
  for (Value input : graph.inputs()) {
    Literal wide(Type{DType::f64, input.shape()});
    for (double& x : wide.mutable_data<double>()) {
      x = input.dtype() == DType::boolean
              ? double(random() % 2)
              : double(float(std::uniform_real_distribution<double>(-0.8, 0.8)(random)));
    }
    inputs.push_back(input.dtype() == DType::boolean ? wide.converted(DType::boolean) : wide);
  }
  return inputs;
}

std::vector<const Node*> recurrent_kernels(const Graph& kernels) {
  std::vector<const Node*> found;
  for (const Node& node : kernels.nodes()) {
    EXPECT_FALSE(node.is(ops::scan)) << "a loop: %" << node.names[0];
    if (is_kernel_of(node, Family::recurrent)) found.push_back(&node);
  }
  return found;
}

int stages_of(const Node& kernel) {
  const Node& scan = *kernel.region().results()[0].node;
  const auto rows = analyse_rows(scan.region());
  return rows ? rows->stages : -1;
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
  for (unsigned seed = 0; seed < 100; ++seed) {
    const GraphPtr traced = RandomCell(seed).training_graph();
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
    const Literals inputs = random_inputs(*graph, seed);
    const GraphPtr plain = run_pipeline(traced, parse_pipeline("autodiff")).graph;
    const testing::BoundedResults wanted = testing::evaluate_with_bounds(*plain, inputs);
    check_gradient(*graph, inputs, wanted.values, seed);
    check_compiled(*kernels, inputs, wanted);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(several_stages, 10);
}

}  // namespace
}  // namespace graphc

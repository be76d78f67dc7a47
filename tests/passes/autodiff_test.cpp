// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ir/build.h"
#include "ir/text.h"
#include "passes/passes.h"
#include "tests/passes/cells.h"
#include "tests/passes/values.h"

namespace graphc::core::testing {
namespace {

/// A graph of one node: the op on the operands of a sample.
GraphPtr graph_of(const Op& op, const Sample& sample) {
  auto graph = std::make_unique<Graph>(std::string(op.name));
  Values operands;
  for (size_t i = 0; i < sample.operands.size(); ++i)
    operands.push_back(graph->input(sample.operands[i], "x" + std::to_string(i)));
  const Node& node = graph->add(op, operands, sample.attributes);
  Values results;
  for (int i = 0; i < node.results(); ++i) results.push_back(node.result(i));
  graph->set_results(results);
  return freeze(std::move(graph));
}

bool is_differentiable(const Sample& sample, const Graph& graph) {
  bool floating_operand = false;
  for (const Type& type : sample.operands) floating_operand |= is_floating(type.dtype);
  return floating_operand && is_floating(graph.results()[0].dtype());
}

/// Expects that every op but those left out agrees with finite differences on arguments in
/// [low, high). Returns how many directions were tried.
int expect_every_gradient(double low, double high, const std::set<std::string_view>& left_out) {
  // Their derivative is zero by definition.
  const std::set<std::string_view> zero = {"floor", "ceil", "round", "sign", "size"};
  int tried = 0, kinks = 0;
  std::map<std::string_view, double> largest;  // of all samples: one number may be in a flat part
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr || op == &ops::stop_gradient) continue;
    if (left_out.contains(op->name)) continue;
    for (const Sample& sample : op->samples()) {
      const GraphPtr graph = graph_of(*op, sample);
      if (!is_differentiable(sample, *graph)) continue;
      SCOPED_TRACE(op->name);
      double& seen = largest[op->name];
      const Ranges ranges{low, high, sample.index_limit};
      seen = std::max(seen, expect_gradients(graph, "autodiff", 7, ranges, &kinks));
      tried += int(kDirections);
    }
  }
  for (const auto& [op, seen] : largest) {
    if (zero.contains(op))
      EXPECT_EQ(seen, 0) << op;
    else
      EXPECT_GT(seen, 1e-3) << op;
  }
  EXPECT_LE(kinks * 20, tried);
  return tried - kinks;
}

TEST(Autodiff, EveryOpAgreesWithFiniteDifferences) {
  EXPECT_GT(expect_every_gradient(0.2, 1.3, {}), 120);
}

TEST(Autodiff, OpsOfAnyNumberAgreeWithFiniteDifferencesBelowZeroToo) {
  // What is not defined below 0, or has a pole between.
  const std::set<std::string_view> left_out = {"log", "sqrt", "rsqrt", "pow", "log1p", "tan"};
  EXPECT_GT(expect_every_gradient(-2.5, 2.5, left_out), 120);
}

class CellGradients : public ::testing::TestWithParam<Cell> {};

TEST_P(CellGradients, AgreeWithFiniteDifferences) {
  const GraphPtr graph = parse_cell(GetParam());
  EXPECT_GT(expect_gradients(graph, "autodiff", 3, {-1, 1, 7}), 1e-3);
}

TEST_P(CellGradients, AreTheSameAfterCleaningUpFirst) {
  const GraphPtr graph = parse_cell(GetParam());
  EXPECT_GT(expect_gradients(graph, "simplify,cse,autodiff,expand,simplify,cse", 4, {-1, 1, 7}),
            1e-3);
}

INSTANTIATE_TEST_SUITE_P(Cells, CellGradients, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return std::string(cell.param.name); });

TEST(Autodiff, SavesOneValueOfAllColumnsForALayerNorm) {
  const GraphPtr graph = after(with_gradients(parse_graph(R"(
    graph @f(%x: f32[4,3,5], %h0: f32[3,5], %u: f32[5,5]) {
      %h.e = scan %x.t in %x carry %h = %h0 with %u {
        next %h = layer_norm(add(matmul(%h, %u), %x.t))
      }
      return %h.e
    })")),
                               "simplify,cse,autodiff,expand,simplify,cse");
  int64_t columns = 0, rows = 0;
  for (const Node& node : graph->nodes()) {
    if (!node.is(ops::scan) || node.attributes.get_bool("reverse", false)) continue;
    for (const Type& type : node.types) {
      if (type.shape.rank() == 3) (type.shape[2] == 5 ? columns : rows) += 1;
    }
  }
  // The result, which is the state too, and the inverse deviation of each row.
  EXPECT_EQ(columns, 1) << print(*graph);
  EXPECT_EQ(rows, 1) << print(*graph);
}

TEST(Autodiff, StopGradientCutsAndMarksAreRemoved) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[3], %y: f32[3]) {
      %a = watch %x
      %b = stop_gradient %y
      %loss = sum(mul(mul(%a, %a), %b)) {axes = [0]}
      %da, %dx, %dy = grad %loss, %a, %x, %y
      return %da, %dx, %dy
    })");
  const GraphPtr result = after(graph, "autodiff");
  EXPECT_EQ(count(*result, "watch") + count(*result, "stop_gradient") + count(*result, "grad"), 0);
  const Literal x(std::vector<double>{1, 2, 3}, {3}), y(std::vector<double>{5, 7, 11}, {3});
  const Evaluation found = evaluate(*result, {x, y}, {}, Precision::f64);
  EXPECT_EQ(found.results[0].to_text(), "[10, 28, 66]");
  EXPECT_EQ(found.results[1].to_text(), "[10, 28, 66]");
  EXPECT_EQ(found.results[2].to_text(), "[0, 0, 0]");
}

TEST(Autodiff, GradientOfCrossEntropyIsFiniteForLogitsOfAnySize) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[2,3], %labels: i32[2], %w: f32[2]) {
      %loss = sum(mul(cross_entropy(%x, %labels), %w)) {axes = [0]}
      %dx = grad %loss, %x
      return %dx
    })");
  const Literal x(std::vector<double>{2000, 900, -800, -1500, -2500, -1500}, {2, 3}),
      labels(std::vector<int32_t>{1, 2}, {2}), w(std::vector<double>{3, 8}, {2});
  const GraphPtr result = after(graph, "autodiff");
  EXPECT_EQ(evaluate(*result, {x, labels, w}, {}, Precision::f64).results[0].to_text(),
            "[[3, -3, 0], [4, 0, -4]]");
}

TEST(Autodiff, EquallyLargeElementsShareTheGradientOfMax) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[2,4], %w: f32[2]) {
      %loss = sum(mul(max(%x) {axes = [1]}, %w)) {axes = [0]}
      %dx = grad %loss, %x
      return %dx
    })");
  const Literal x(std::vector<double>{1, 3, 3, 0, 2, 2, 2, 2}, {2, 4}),
      w(std::vector<double>{6, 12}, {2});
  EXPECT_EQ(evaluate(*after(graph, "autodiff"), {x, w}, {}, Precision::f64).results[0].to_text(),
            "[[0, 3, 3, 0], [3, 3, 3, 3]]");
}

TEST(Autodiff, DropoutInALoopKeepsItsMaskBackwards) {
  // The number of a step is part of its key, so that a backward loop can draw the mask again.
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[4,3,5], %h0: f32[3,5], %n: i64[4], %key: i64[]) state (%u: f32[5,5]) {
      %y, %h.e = scan %x.t in %x, %n.t in %n carry %h = %h0 with %u, %key {
        %dropped = dropout(%h, fold_in(%key, %n.t)) {keep = 0.5}
        %h.1 = tanh(add(%x.t, matmul(%dropped, %u)))
        next %h = %h.1
        emit %h.1
      }
      return %y, %h.e
    })");
  for (const char* passes : {"autodiff", "autodiff,expand,simplify,cse,hoist"})
    EXPECT_GT(expect_gradients(graph, passes, 5, {-1, 1, 1000}), 1e-3) << passes;
}

TEST(Autodiff, DifferentiatesADerivative) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[2]) {
      %loss = sum(mul(mul(%x, %x), %x)) {axes = [0]}
      %d = grad %loss, %x
      %s = sum(mul(%d, %d)) {axes = [0]}
      %dd = grad %s, %x
      return %dd
    })");
  // d/dx (3 x^2)^2 = 36 x^3.
  const Literal x(std::vector<double>{1, 2}, {2});
  EXPECT_EQ(evaluate(*after(graph, "autodiff"), {x}, {}, Precision::f64).results[0].to_text(),
            "[36, 288]");
}

TEST(Autodiff, AnEmptyLoopPassesTheCotangentOfItsCarry) {
  const GraphPtr graph = parse_graph(R"(
    graph @f(%x: f32[0,2], %h0: f32[2]) {
      %y, %h.e = scan %x.t in %x carry %h = %h0 {
        %h.1 = mul(%h, %x.t)
        next %h = %h.1
        emit %h.1
      }
      %loss = sum(%h.e) {axes = [0]}
      %d = grad %loss, %h0
      return %d
    })");
  const Literal x(Type{DType::f64, {0, 2}}), h(std::vector<double>{3, 4}, {2});
  EXPECT_EQ(evaluate(*after(graph, "autodiff"), {x, h}, {}, Precision::f64).results[0].to_text(),
            "[1, 1]");
}

}  // namespace
}  // namespace graphc::core::testing

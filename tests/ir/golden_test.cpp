// SPDX-License-Identifier: Apache-2.0
// The evaluator on whole recurrent layers, against golden vectors made with PyTorch's own layers.
#include "tests/testing/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluate.h"
#include "ir/op.h"
#include "ir/verify.h"

namespace graphc::core {
namespace {

using testing::Derivatives;
using testing::golden_arguments;
using testing::golden_arrays;
using testing::golden_cells;
using testing::golden_inputs;
using testing::golden_layer;
using testing::golden_results;
using testing::GoldenCell;

double largest_difference(const Literal& a, const Literal& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    largest = std::max(largest, std::fabs(a.element(i) - b.element(i)));
  }
  return largest;
}

void expect_golden(const GoldenCell& cell, Precision precision, double tolerance) {
  const auto arrays = golden_arrays(cell.file);
  const GraphPtr graph = golden_layer(cell, Derivatives::without);
  verify(*graph);
  const DType dtype = precision == Precision::f64 ? DType::f64 : DType::f32;
  const auto found = evaluate(*graph, golden_inputs(cell, dtype), {}, precision).results;
  const auto names = golden_results(cell, Derivatives::without);
  ASSERT_EQ(found.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_LT(largest_difference(found[i], arrays.at(names[i])), tolerance)
        << cell.file << ": " << names[i];
  }
}

TEST(Golden, LayersInTextAgreeWithPyTorchInF64) {
  for (const GoldenCell& cell : golden_cells()) expect_golden(cell, Precision::f64, 1e-12);
}

TEST(Golden, LayersInTextAgreeWithPyTorchInF32) {
  for (const GoldenCell& cell : golden_cells()) expect_golden(cell, Precision::f32, 1e-5);
}

/// The composites of whole layers, from the arrays of a file in the order of their operands.
void expect_composite(const Op& op, const std::vector<std::string>& operands,
                      const std::vector<std::string>& results) {
  const auto arrays = golden_arrays(std::string(op.name));
  auto graph = std::make_unique<Graph>("f");
  Values values;
  std::vector<Literal> inputs;
  for (const std::string& name : operands) {
    inputs.push_back(arrays.at(name));
    values.push_back(graph->input({DType::f64, inputs.back().shape()}, name));
  }
  const Node& node = graph->add(op, values);
  Values outputs;
  for (int i = 0; i < node.results(); ++i) outputs.push_back(node.result(i));
  graph->set_results(outputs);
  const auto found = evaluate(*freeze(std::move(graph)), inputs, {}, Precision::f64).results;
  ASSERT_EQ(found.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_LT(largest_difference(found[i], arrays.at(results[i])), 1e-12) << op.name << i;
}

TEST(Golden, CompositesOfWholeLayersAgreeWithPyTorch) {
  expect_composite(ops::lstm, {"x", "h0", "c0", "w", "u", "b"}, {"y", "h_end", "c_end"});
  expect_composite(ops::gru, {"x", "h0", "w", "u", "b", "c"}, {"y", "h_end"});
  expect_composite(ops::rnn, {"x", "h0", "w", "u", "b"}, {"y", "h_end"});
}

TEST(Golden, StoredDerivativesAreThoseOfTheEvaluatedLoss) {
  // Central differences along one direction of each argument.
  constexpr double step = 1e-6;
  for (const GoldenCell& cell : golden_cells()) {
    const auto arrays = golden_arrays(cell.file);
    const GraphPtr graph = golden_layer(cell, Derivatives::without);
    const auto names = golden_arguments(arrays);
    for (size_t at = 0; at < names.size(); ++at) {
      const Literal& gradient = arrays.at("grad." + names[at]);
      const auto loss_at = [&](double distance) {
        std::vector<Literal> inputs = golden_inputs(cell, DType::f64);
        const auto elements = inputs[at].mutable_data<double>();
        for (size_t i = 0; i < elements.size(); ++i) elements[i] += distance * std::cos(double(i));
        return evaluate(*graph, inputs, {}, Precision::f64).results[1].element(0);
      };
      double wanted = 0;
      for (int64_t i = 0; i < gradient.elements(); ++i) {
        wanted += std::cos(double(i)) * gradient.element(i);
      }
      EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2 * step), wanted, 1e-7)
          << cell.file << ": " << names[at];
    }
  }
}

}  // namespace
}  // namespace graphc::core

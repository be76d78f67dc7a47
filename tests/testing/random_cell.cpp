// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/random_cell.h"

#include <fmt/format.h>

#include <random>

#include "ir/build.h"
#include "ir/scan.h"

namespace graphc::core::testing {
namespace {

constexpr int64_t kSteps = 4, kRowsOfCell = 5;

class RandomCell {
 public:
  explicit RandomCell(unsigned seed) : random_(seed), units_(3 + int64_t(seed) % 18) {}

  CellLoop loop() {
    GraphPtr body = make_body();
    return {body, streams_, carries_, kSteps, reverse_};
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
    const Type state{DType::f32, {kRowsOfCell, units_}};
    Values inputs, states, matrices;
    for (int p = 0; p < products; ++p) inputs.push_back(body->input(state, fmt::format("x{}", p)));
    Value mask;
    if (masked) mask = body->input({DType::boolean, {kRowsOfCell, 1}}, "mask");
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

}  // namespace

GraphPtr training_graph(const CellLoop& loop) {
  auto graph = std::make_unique<Graph>("train");
  Values streams, initial, captures, leaves;
  for (size_t i = 0; i < loop.body->inputs().size(); ++i) {
    const Value inner = loop.body->inputs()[i];
    const bool stream = i < loop.streams;
    if (stream && inner.name() == "t") {
      streams.push_back(iota(*graph, {loop.steps}, 0, DType::i32));
      continue;
    }
    Type type = inner.type();
    if (stream) type.shape = type.shape.insert(0, loop.steps);
    const Value outer = graph->input(type, inner.name());
    (stream ? streams : i < loop.streams + loop.carries ? initial : captures).push_back(outer);
    if (type.dtype == DType::f32 && inner.name() != "mask") leaves.push_back(outer);
  }
  const Node& scan =
      add_scan(*graph, {streams, initial, captures, loop.body, loop.steps, loop.reverse});
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

GraphPtr random_cell(unsigned seed) { return training_graph(RandomCell(seed).loop()); }

std::vector<Literal> random_cell_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  int64_t steps = 0;
  for (Value input : graph.inputs()) {
    if (input.name() == "k") steps = input.shape()[0];
  }
  std::vector<Literal> inputs;
  for (Value input : graph.inputs()) {
    Literal wide(Type{DType::f64, input.shape()});
    for (double& x : wide.mutable_data<double>()) {
      if (input.name() == "mask") {
        x = double(random() % 2);
      } else if (input.name() == "lengths") {
        x = double(random() % unsigned(steps + 2));
      } else {
        x = double(float(std::uniform_real_distribution<double>(-0.8, 0.8)(random)));
      }
    }
    inputs.push_back(input.dtype() == DType::f32 ? wide : wide.converted(input.dtype()));
  }
  return inputs;
}

}  // namespace graphc::core::testing

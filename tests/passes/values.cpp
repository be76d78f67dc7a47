// SPDX-License-Identifier: Apache-2.0
#include "tests/passes/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace graphc::core::testing {
namespace {

Literal random_literal(const Type& type, std::mt19937& random, const Ranges& ranges) {
  const int64_t elements = type.shape.elements();
  if (is_floating(type.dtype)) {
    std::uniform_real_distribution<double> distribution(ranges.low, ranges.high);
    std::vector<double> values;
    for (int64_t i = 0; i < elements; ++i) values.push_back(distribution(random));
    return Literal(values, type.shape);
  }
  const int64_t limit = type.dtype == DType::boolean ? 2 : ranges.index_limit;
  std::uniform_int_distribution<int64_t> distribution(0, limit - 1);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < elements; ++i) values.push_back(distribution(random));
  return Literal(values, type.shape).converted(type.dtype);
}

void expect_close(const std::string& what, const Literal& a, const Literal& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.element(i), y = b.element(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::abs(x))) << what << " at " << i;
  }
}

Literal moved(const Literal& x, const Literal& direction, double distance) {
  if (!is_floating(x.dtype())) return x;
  std::vector<double> values;
  for (int64_t i = 0; i < x.elements(); ++i)
    values.push_back(x.element(i) + distance * direction.element(i));
  return Literal(values, x.shape());
}

double loss_at(const GraphPtr& graph, const Arguments& arguments, const Arguments& direction,
               double distance) {
  Arguments at;
  for (size_t i = 0; i < arguments.inputs.size(); ++i)
    at.inputs.push_back(moved(arguments.inputs[i], direction.inputs[i], distance));
  for (const auto& [name, value] : arguments.states)
    at.states[name] = moved(value, direction.states.at(name), distance);
  return evaluate(*graph, at.inputs, at.states, Precision::f64).results[0].element(0);
}

/// The weighed sum of all elements of all floating-point results.
Value weighed_sum(const Values& results, Graph& to) {
  Value loss;
  for (Value result : results) {
    if (!is_floating(result.dtype())) continue;
    const Value index = iota(to, {result.shape().elements()}, 0, DType::f32);
    const Value flat = reshape(cast(result, DType::f32), {result.shape().elements()});
    Value term = sum(flat * cos(index * 0.9 + 0.4));
    if (result.shape().rank() > 0) {
      const Value weights = cos(iota(to, result.shape(), 0, DType::f32) * 0.7 + 0.3);
      term = term + sum(cast(result, DType::f32) * weights);
    }
    loss = loss ? loss + term : term;
  }
  return loss;
}

GraphPtr with_loss(const GraphPtr& graph, bool gradients) {
  auto to = std::make_unique<Graph>(graph->name());
  Values arguments, leaves;
  std::map<const Node*, Value> inputs;
  for (Value input : graph->inputs()) inputs[input.node] = to->input(input.type(), input.name());
  for (Value state : graph->states()) inputs[state.node] = to->state(state.type(), state.name());
  std::map<const Node*, Values> copies;
  const auto mapped = [&](Value value) {
    const auto input = inputs.find(value.node);
    return input != inputs.end() ? input->second : copies.at(value.node)[size_t(value.index)];
  };
  for (const Node& node : graph->nodes()) {
    if (inputs.contains(&node)) continue;
    Values operands;
    for (Value operand : node.operands) operands.push_back(mapped(operand));
    const Node& copy = copy_node(node, operands, *to);
    for (int i = 0; i < copy.results(); ++i) copies[&node].push_back(copy.result(i));
  }
  for (Value input : graph->inputs()) leaves.push_back(mapped(input));
  for (Value state : graph->states()) leaves.push_back(mapped(state));
  std::erase_if(leaves, [](Value leaf) { return !is_floating(leaf.dtype()); });
  Values results;
  for (Value result : graph->results()) results.push_back(mapped(result));
  const Value loss = weighed_sum(results, *to);
  Values roots{loss};
  if (gradients) {
    Values operands{loss};
    operands.insert(operands.end(), leaves.begin(), leaves.end());
    const Node& grad = to->add(ops::grad, operands);
    for (int i = 0; i < grad.results(); ++i) roots.push_back(grad.result(i));
  }
  to->set_results(roots);
  return freeze(std::move(to));
}

}  // namespace

double dot(const Literal& a, const Literal& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.elements(); ++i) sum += a.element(i) * b.element(i);
  return sum;
}

Arguments random_arguments(const Graph& graph, unsigned seed, const Ranges& ranges) {
  std::mt19937 random(seed);
  Arguments arguments;
  for (Value input : graph.inputs())
    arguments.inputs.push_back(random_literal(input.type(), random, ranges));
  for (Value state : graph.states())
    arguments.states[state.name()] = random_literal(state.type(), random, ranges);
  return arguments;
}

GraphPtr after(const GraphPtr& graph, std::string_view passes) {
  return run_pipeline(graph, parse_pipeline(passes)).graph;
}

void expect_same_values(const GraphPtr& a, const GraphPtr& b, unsigned seed, double tolerance,
                        const Ranges& ranges) {
  const Arguments arguments = random_arguments(*a, seed, ranges);
  const Evaluation x = evaluate(*a, arguments.inputs, arguments.states, Precision::f64);
  const Evaluation y = evaluate(*b, arguments.inputs, arguments.states, Precision::f64);
  ASSERT_EQ(x.results.size(), y.results.size());
  for (size_t i = 0; i < x.results.size(); ++i)
    expect_close("result " + std::to_string(i), x.results[i], y.results[i], tolerance);
  ASSERT_EQ(x.next.size(), y.next.size());
  for (const auto& [name, value] : x.next)
    expect_close("next " + name, value, y.next.at(name), tolerance);
}

GraphPtr with_gradients(const GraphPtr& graph) { return with_loss(graph, true); }

double expect_gradients(const GraphPtr& graph, std::string_view passes, unsigned seed,
                        const Ranges& ranges, int* kinks) {
  const GraphPtr loss = with_loss(graph, false);
  const GraphPtr gradients = after(with_loss(graph, true), passes);
  verify(*gradients);
  const Arguments arguments = random_arguments(*loss, seed, ranges);
  const Evaluation found = evaluate(*gradients, arguments.inputs, arguments.states, Precision::f64);
  double largest = 0;
  for (unsigned trial = 0; trial < kDirections; ++trial) {
    const Arguments direction = random_arguments(*loss, seed + 100 + trial, {-1, 1, 2});
    constexpr double step = 1e-5;
    const double here = loss_at(loss, arguments, direction, 0);
    const double forwards = (loss_at(loss, arguments, direction, step) - here) / step;
    const double backwards = (here - loss_at(loss, arguments, direction, -step)) / step;
    const double wanted = (forwards + backwards) / 2;
    if (kinks && std::abs(forwards - backwards) > 0.01 * std::max(1.0, std::abs(wanted))) {
      ++*kinks;
      continue;
    }
    double derivative = 0;
    size_t next = 1;
    for (size_t i = 0; i < loss->inputs().size(); ++i) {
      if (is_floating(loss->inputs()[i].dtype()))
        derivative += dot(found.results[next++], direction.inputs[i]);
    }
    for (Value state : loss->states()) {
      if (is_floating(state.dtype()))
        derivative += dot(found.results[next++], direction.states.at(state.name()));
    }
    EXPECT_NEAR(derivative, wanted, 2e-6 * std::max(1.0, std::abs(wanted))) << print(*gradients);
    largest = std::max(largest, std::abs(derivative));
  }
  return largest;
}

int count_here(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op.name == op ? 1 : 0;
  return found;
}

int count(const Graph& graph, std::string_view op) {
  int found = count_here(graph, op);
  for (const Node& node : graph.nodes()) {
    for (const GraphPtr& region : node.regions) found += count(*region, op);
  }
  return found;
}

}  // namespace graphc::core::testing

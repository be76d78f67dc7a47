// SPDX-License-Identifier: Apache-2.0
// What storing values in bf16 (passes/precision.cpp) costs of gradients, beside what rounding the
// factors of products costs: of every cell that there is as a program or as text, and of random
// ones whose gates are exponential, periodic or inverse. The evaluator computes all of it, so that
// it is the same on every machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "ir/text.h"
#include "models/registry.h"
#include "passes/pipeline.h"
#include "passes/region.h"
#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

/// A gradient may lose this many times what rounding products loses of it,
constexpr double kMost = 1.5;
/// or of this, where products lose less: what rounding a gradient itself to bf16 may lose of it,
/// half of that where it is a product. Of vectors it is a sum over rows, which adds up what is
/// rounded where a product would have rounded it anyway; with more rows than here that loses less.
constexpr double kLeastOfVectors = 0x1p-8, kLeastOfMatrices = 0x1p-10;

/// Where rounding products loses this part or more, both results are noise.
constexpr double kIllConditioned = 0.25;

constexpr int64_t kUnits = 16, kRows = 32;

/// What a cell is tried with.
struct Trial {
  int64_t steps;
  double of_vectors;  ///< mean of biases and other vectors; they deviate by 1
};
constexpr Trial kTrials[] = {{6, 0}, {14, 2}};
/// And one with an exponential in it, whose arguments may be large where a sigmoid is saturated.
constexpr Trial kOfExponentials{10, 4};

/// The graph up to its gradients, which are its results.
GraphPtr gradients_of(const Graph& graph) {
  auto to = std::make_unique<Graph>(graph.name());
  ValueMap known(graph);
  for (Value input : graph.inputs()) known.set(input, to->input(input.type(), input.name()));
  for (Value state : graph.states()) known.set(state, to->state(state.type(), state.name()));
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::grad)) {
      to->set_results(copy_cone(graph, known, results_of(node), *to));
      return freeze(std::move(to));
    }
  }
  throw input_error({}, "no gradient is taken in @{}", graph.name());
}

/// The same with the factors of products rounded to bf16.
GraphPtr with_rounded_factors(const GraphPtr& graph) {
  const auto change = [](const GraphPtr& some) {
    return rewrite(*some, [](const Node& node, const Values& operands, Graph& to) {
      std::optional<Values> product;
      if (!node.is(ops::matmul)) return product;
      Values factors;
      for (Value factor : operands) {
        const Value rounded = to.add(ops::cast, {factor}, {{"dtype", DType::bf16}}).result();
        factors.push_back(to.add(ops::cast, {rounded}, {{"dtype", DType::f32}}).result());
      }
      product = Values{copy_node(node, factors, to).result()};
      return product;
    });
  };
  return change(rewrite_regions(graph, change));
}

/// The graph before kernels are formed of it.
GraphPtr prepared(const GraphPtr& graph, bool stores_bf16) {
  Pipeline pipeline = standard_pipeline("fused", "loop");
  for (PassUse& use : kernel_pipeline("fused", stores_bf16)) {
    if (use.pass->name != "fuse") pipeline.push_back(std::move(use));
  }
  return run_pipeline(graph, pipeline).graph;
}

struct Arguments {
  std::vector<Literal> inputs;
  std::map<std::string, Literal> states;
};

/// Inputs and weights that deviate by 1 and by 1 over the root of the rows of a matrix; lengths.
Arguments drawn_arguments(const Graph& graph, const Trial& trial, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto drawn = [&](const Type& type, double mean, double deviation) {
    Literal literal(Type{DType::f64, type.shape});
    for (double& x : literal.mutable_data<double>()) {
      x = type.dtype == DType::i32 ? double(1 + int64_t(random()) % trial.steps)
                                   : mean + deviation * normal(random);
    }
    return literal.converted(type.dtype);
  };
  Arguments arguments;
  for (Value input : graph.inputs())
    arguments.inputs.push_back(drawn(input.type(), 0, input.shape().rank() == 3 ? 1 : 0.5));
  for (Value state : graph.states()) {
    const bool matrix = state.shape().rank() == 2;
    const double deviation = matrix ? 1 / std::sqrt(double(state.shape()[0])) : 1;
    arguments.states.emplace(state.name(),
                             drawn(state.type(), matrix ? 0 : trial.of_vectors, deviation));
  }
  return arguments;
}

/// How far `found` is from `exact`, as a part of it.
double relative_error(const Literal& found, const Literal& exact) {
  double of = 0, error = 0;
  for (int64_t i = 0; i < exact.elements(); ++i) {
    of += std::pow(exact.element(i), 2);
    error += std::pow(found.element(i) - exact.element(i), 2);
  }
  return std::sqrt(error / of);
}

/// Tries a cell with several seeds; errors are their geometric means.
void expect_near_rounded_products(const Graph& program, const Trial& trial, unsigned seeds) {
  const GraphPtr gradients = gradients_of(program);
  const GraphPtr plain = prepared(gradients, false);
  const GraphPtr rounded = with_rounded_factors(plain);
  const GraphPtr stored = with_rounded_factors(prepared(gradients, true));
  std::vector<double> of_products(plain->results().size()), of_stored = of_products;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const auto [inputs, states] = drawn_arguments(*gradients, trial, seed);
    const auto exact = evaluate(*plain, inputs, states, Precision::f64).results;
    const auto products = evaluate(*rounded, inputs, states).results;
    const auto found = evaluate(*stored, inputs, states).results;
    for (size_t i = 0; i < exact.size(); ++i) {
      of_products[i] += std::log(relative_error(products[i], exact[i])) / seeds;
      of_stored[i] += std::log(relative_error(found[i], exact[i])) / seeds;
    }
  }
  for (size_t i = 0; i < of_products.size(); ++i) {
    const double products = std::exp(of_products[i]), found = std::exp(of_stored[i]);
    if (!(products < kIllConditioned)) continue;
    const Value gradient = plain->results()[i];
    const double least = gradient.shape().rank() < 2 ? kLeastOfVectors : kLeastOfMatrices;
    EXPECT_LE(found, kMost * std::max(products, least))
        << gradient.name() << " of " << to_string(gradient.type()) << ", " << trial.steps
        << " steps, vectors around " << trial.of_vectors << ": rounded products lose " << products;
  }
}

class Bf16Gradients : public ::testing::TestWithParam<std::string> {};

TEST_P(Bf16Gradients, OfALayerAreAsNearAsThoseOfRoundedProducts) {
  for (const Trial& trial : kTrials) {
    const auto program = make_program(
        "lstm-layer", {"cell=" + GetParam(), fmt::format("hidden={}", kUnits),
                       fmt::format("batch={}", kRows), fmt::format("steps={}", trial.steps)});
    const auto traced = program->model().trace("train", program->extents("train"));
    expect_near_rounded_products(*traced.graph, trial, 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Bf16Gradients,
                         ::testing::Values("lstm", "layer-norm-lstm", "peephole-lstm",
                                           "projected-lstm", "gru", "gru-reset-before", "rnn"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// The text of a cell of docs/cells with every extent, which stands in brackets, made small.
std::string made_small(const std::string& text, int64_t steps) {
  const std::map<std::string, int64_t> extents{
      {"8", 4},        {"30", steps},        {"64", kUnits / 4},   {"128", kRows},
      {"512", kUnits}, {"1024", 2 * kUnits}, {"1536", 3 * kUnits}, {"2048", 4 * kUnits}};
  std::string small, number;
  bool inside = false;
  for (const char c : text) {
    if (inside && std::isdigit(static_cast<unsigned char>(c))) {
      number += c;
      continue;
    }
    const auto extent = extents.find(number);
    small += extent == extents.end() ? number : std::to_string(extent->second);
    number.clear();
    small += c;
    inside = c == '[' || (inside && c != ']');
  }
  return small;
}

class Bf16GradientsOfCells : public ::testing::TestWithParam<std::string> {};

TEST_P(Bf16GradientsOfCells, AreAsNearAsThoseOfRoundedProducts) {
  std::ifstream file(source_path("docs/cells/" + GetParam() + ".graph"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const Trial& trial : kTrials)
    expect_near_rounded_products(*parse_graph(made_small(text, trial.steps)), trial, 3);
  if (text.find("exp(") == std::string::npos) return;
  const Trial& trial = kOfExponentials;
  expect_near_rounded_products(*parse_graph(made_small(text, trial.steps)), trial, 3);
}

std::vector<std::string> cells_of_docs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("docs/cells"))) {
    if (entry.path().extension() == ".graph") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(OfDocs, Bf16GradientsOfCells, ::testing::ValuesIn(cells_of_docs()),
                         [](const auto& tested) { return tested.param; });

/// A cell that reads its pre-gates in ways drawn by a seed, as a training step.
std::string cell_with_any_gates(unsigned seed, int64_t steps) {
  constexpr std::array kWays{
      "exp(sub({0}, maximum({0}, {1})))",
      "div(exp(sub({0}, maximum({0}, {1}))), add(exp(sub({1}, maximum({0}, {1}))), 0.5))",
      "sin({0})",
      "reciprocal(add(0.5, square(sub({0}, {1}))))",
      "log(add(0.1, square(sub({0}, {1}))))",
      "exp(neg(softplus({0})))",
      "exp(neg(square(sub({0}, {1}))))",
      "sqrt(add(1., square({0})))",
      "mul({0}, rsqrt(add(0.1, mean(square({0})) {{axes = [1], keep = true}})))",
      "softplus({0})",
      "mul(sigmoid({0}), {1})",
      "tanh(mul({0}, {1}))",
      "maximum({0}, {1})"};
  std::mt19937 random(seed);
  std::vector<std::string> values{"%z0", "%z1", "%z2", "%z3"};
  std::string text = fmt::format(R"(graph @cell(%x: f32[{0},{1},{2}], %target: f32[{0},{1},{2}],
    %h0: f32[{1},{2}], %c0: f32[{1},{2}])
    state (%w: f32[{2},{3}], %u: f32[{2},{3}], %b: f32[{3}]) {{
  %y, %h.end, %c.end = scan %x.t in %x carry %h = %h0, %c = %c0 with %w, %u, %b {{
    %z = add(add(matmul(%x.t, %w), %b), matmul(%h, %u))
    %z0, %z1, %z2, %z3 = split(%z) {{axis = 1, parts = 4}}
)",
                                 steps, kRows, kUnits, 4 * kUnits);
  for (int i = 0; i < 3; ++i) {
    const auto pick = [&] { return values[random() % values.size()]; };
    const std::string left = pick(), right = pick();
    text += fmt::format("    %v{} = {}\n", i,
                        fmt::format(fmt::runtime(kWays[random() % kWays.size()]), left, right));
    values.push_back(fmt::format("%v{}", i));
  }
  return text + R"(    %c.1 = add(mul(sigmoid(%z2), %c), mul(sigmoid(%v0), tanh(add(%z3, %v1))))
    %h.1 = mul(tanh(%v2), tanh(%c.1))
    next %h = %h.1, %c = %c.1
    emit %h.1
  }
  %loss = mse(%y, %target)
  %d.w, %d.u, %d.b = grad %loss, %w, %u, %b
  return %d.w, %d.u, %d.b
})";
}

TEST(Bf16GradientsOfRandomCells, AreAsNearAsThoseOfRoundedProducts) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const Trial trial{8, double(seed % 3 * 2)};
    const std::string text = cell_with_any_gates(seed, trial.steps);
    SCOPED_TRACE(text);
    expect_near_rounded_products(*parse_graph(text), trial, 3);
  }
}

}  // namespace
}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/rank_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "codegen/target.h"
#include "ir/text.h"
#include "passes/replicate/holding.h"

namespace graphc::core::testing {
namespace {

void expect_near(const Literal& found, const Literal& wanted, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.shape(), wanted.shape()) << what;
  double size = 1;
  for (int64_t i = 0; i < wanted.elements(); ++i)
    size = std::max(size, std::abs(wanted.element(i)));
  for (int64_t i = 0; i < wanted.elements(); ++i)
    ASSERT_NEAR(found.element(i), wanted.element(i), tolerance * size) << what << " at " << i;
}

/// For every input an axis that the ranks divide, or -1.
std::vector<int> random_axes(const Graph& graph, int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> axes;
  for (const Value input : graph.inputs()) {
    axes.push_back(-1);
    for (int axis = 0; axis < input.shape().rank(); ++axis) {
      if (divides(input.shape(), parts_along(axis), ranks) && random() % 2 == 0) axes.back() = axis;
    }
  }
  return axes;
}

}  // namespace

const char* const kTwoLayers = R"(
graph @train(%tokens: i32[5,8], %targets: i32[5,8], %rate: f32[])
    state (%table: f32[50,16], %w: f32[16,16], %u: f32[16,16], %w2: f32[16,16], %u2: f32[16,16],
           %v: f32[16,50], %h: f32[8,16], %h2: f32[8,16]) {
  %x = gather %table, %tokens
  %hs, %end = scan %x.t in %x carry %s = %h with %w, %u {
    %n = tanh(add(matmul(%x.t, %w), matmul(%s, %u)))
    next %s = %n
    emit %n
  }
  %hs2, %end2 = scan %x.t in %hs carry %s = %h2 with %w2, %u2 {
    %n = tanh(add(matmul(%x.t, %w2), matmul(%s, %u2)))
    next %s = %n
    emit %n
  }
  %loss = mean(cross_entropy(matmul(%hs2, %v), %targets)) {axes = [0, 1]}
  %dt, %dw, %du, %dw2, %du2, %dv = grad %loss, %table, %w, %u, %w2, %u2, %v
  next %table = sub(%table, mul(%rate, %dt)), %w = sub(%w, mul(%rate, %dw)),
       %u = sub(%u, mul(%rate, %du)), %w2 = sub(%w2, mul(%rate, %dw2)),
       %u2 = sub(%u2, mul(%rate, %du2)), %v = sub(%v, mul(%rate, %dv)), %h = %end, %h2 = %end2
  return %loss
}
)";
const std::vector<int> kAxes{1, 1, -1};

After run_on(const Target& target, const GraphPtr& graph, const CompileOptions& options,
             const Arguments& arguments, int runs) {
  CompileReport report;
  const auto executable = compile(graph, target, options, report);
  std::vector<Tensor> inputs, states, outputs;
  for (const Literal& input : arguments.inputs) inputs.emplace_back(input);
  for (const Argument& state : executable->signature().states) {
    states.emplace_back(arguments.states.at(state.name).converted(state.type.dtype));
    states.back().make_unique();
  }
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  for (int i = 0; i < runs; ++i) executable->run(inputs, states, outputs);
  After after;
  for (const Tensor& output : outputs) after.results.push_back(output.copy());
  for (size_t i = 0; i < states.size(); ++i)
    after.states.emplace(executable->signature().states[i].name, states[i].copy());
  return after;
}

std::vector<After> run_ranks_on(const Target& target, const GraphPtr& graph,
                                const CompileOptions& options, int ranks, int shards,
                                const std::vector<int>& axes, const Arguments& arguments, int runs,
                                DType gradients) {
  std::vector<After> all(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](const std::shared_ptr<Ranks>& engine) {
    CompileOptions own = options;
    own.ranks = {.count = ranks,
                 .rank = engine->rank(),
                 .shards = shards,
                 .gradients = gradients,
                 .axes = axes,
                 .engine = engine};
    all[size_t(engine->rank())] = run_on(target, graph, own, arguments, runs);
  });
  return all;
}

void expect_near(const After& found, const After& wanted, double tolerance) {
  for (size_t i = 0; i < wanted.results.size(); ++i)
    expect_near(found.results[i], wanted.results[i], tolerance, fmt::format("result {}", i));
  for (const auto& [name, value] : wanted.states)
    expect_near(found.states.at(name), value, tolerance, name);
}

Arguments arguments_of(const Graph& graph, unsigned seed) {
  Arguments arguments =
      random_arguments(graph, seed, {.low = -0.5, .high = 0.5, .index_limit = 50});
  for (size_t i = 0; i < arguments.inputs.size(); ++i)
    arguments.inputs[i] = arguments.inputs[i].converted(graph.inputs()[i].dtype());
  for (const Value state : graph.states()) {
    Literal& value = arguments.states.at(state.name());
    value = value.converted(state.dtype());
  }
  return arguments;
}

std::optional<RankCase> random_rank_case(unsigned seed) {
  RankCase drawn;
  drawn.ranks = 2 + int(seed % 3);
  drawn.graph = random_graph(
      seed, {.nodes = 5 + int(seed * 7 % 25), .loop = seed % 2 == 1, .gradient = seed % 3 == 2});
  drawn.axes = random_axes(*drawn.graph, drawn.ranks, seed);
  if (std::ranges::all_of(drawn.axes, [](int axis) { return axis < 0; })) return std::nullopt;
  drawn.text = fmt::format("random graph {}, {} ranks, axes {}\n{}", seed, drawn.ranks,
                           fmt::join(drawn.axes, " "), print(*drawn.graph));
  drawn.arguments = arguments_of(*drawn.graph, seed);
  drawn.wanted =
      run_on(targets::reference, drawn.graph, {.precision = Precision::f32}, drawn.arguments, 1);
  return drawn;
}

void expect_case(const RankCase& wanted, const std::vector<After>& found) {
  expect_near(found[0], wanted.wanted, 2e-4);
  for (const After& each : found) EXPECT_TRUE(each == found[0]) << "other bits";
}

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Random graphs, half of them with a loop and a third of them gradients, compiled in every variant:
// they agree with the f64 evaluator as far as the f32 evaluator does, a few times over, and their
// bits do not depend on the number of threads. GRAPHC_RANDOM_GRAPHS says how many, GRAPHC_SEED
// which is the first.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "codegen/cpu/cpu_features.h"
#include "codegen/target.h"
#include "ir/evaluate.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/counts.h"
#include "tests/testing/random_graph.h"

namespace graphc {
namespace {

using Literals = std::vector<Literal>;

int64_t number(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

Literals random_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  Literals inputs;
  for (Value input : graph.inputs()) {
    Literal literal(input.type());
    for (float& x : literal.mutable_data<float>()) x = number(random);
    inputs.push_back(std::move(literal));
  }
  return inputs;
}

/// A level the host can run, another for each seed; the variants of a seed share it.
std::string level(unsigned seed) {
  const std::vector<cpu::CpuFeatures> all = cpu::cpus_of();
  return all[seed % all.size()].name;
}

Literals run(const GraphPtr& graph, const Literals& inputs, const char* variant, int threads,
             const std::string& cpu) {
  CompileReport report;
  const auto executable =
      compile(graph, targets::cpu, {.variant = variant, .cpu = cpu, .threads = threads}, report);
  std::vector<Tensor> arguments, outputs;
  for (const Literal& input : inputs) arguments.emplace_back(input);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(arguments, {}, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

/// What went wrong, or nothing.
std::string disagreement(const Literals& found, const Literals& wanted, const Literals& rounded) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    double largest = 1, error = 0;
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      largest = std::max(largest, std::abs(wanted[i].element(k)));
      error = std::max(error, std::abs(wanted[i].element(k) - rounded[i].element(k)));
    }
    const double tolerance = 20 * error + 1e-5 * largest;
    for (int64_t k = 0; k < wanted[i].elements(); ++k) {
      const double difference = std::abs(found[i].element(k) - wanted[i].element(k));
      if (!(difference <= tolerance)) {
        return fmt::format("result {} element {}: wanted {}, found {}, tolerance {}", i, k,
                           wanted[i].element(k), found[i].element(k), tolerance);
      }
    }
  }
  return {};
}

/// The first element whose bits differ, or nothing.
std::string difference(const Literals& a, const Literals& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    for (int64_t k = 0; k < a[i].elements(); ++k) {
      const double x = a[i].element(k), y = b[i].element(k);
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        return fmt::format("result {} element {}: {} and {}", i, k, x, y);
    }
  }
  return {};
}

void check(unsigned seed) {
  const testing::RandomGraphOptions options{
      .nodes = 5 + int(seed * 7 % 30), .loop = seed % 2 == 1, .gradient = seed % 3 == 2};
  const GraphPtr graph = testing::random_graph(seed, options);
  const Literals inputs = random_inputs(*graph, seed);
  const GraphPtr plain = run_pipeline(graph, parse_pipeline("autodiff")).graph;
  const Literals wanted = evaluate(*plain, inputs, {}, Precision::f64).results;
  const Literals rounded = evaluate(*plain, inputs, {}, Precision::f32).results;
  const auto fail = [&](const std::string& what) {
    ADD_FAILURE() << "seed " << seed << ": " << what << "\n" << print(*graph);
  };
  for (const char* variant : {"fused", "basic", "unrolled"}) {
    try {
      const Literals found = run(graph, inputs, variant, 1, level(seed));
      if (const std::string what = disagreement(found, wanted, rounded); !what.empty())
        return fail(fmt::format("{}: {}", variant, what));
      if (const std::string what = difference(found, run(graph, inputs, variant, 2, level(seed)));
          !what.empty())
        return fail(fmt::format("{}, 1 and 2 threads: {}", variant, what));
    } catch (const Error& error) {
      return fail(fmt::format("{}: {}", variant, error.what()));
    }
  }
}

TEST(RandomGraphsCpu, AgreeWithTheEvaluator) {
  const int64_t first = number("GRAPHC_SEED", 1), count = number("GRAPHC_RANDOM_GRAPHS", 500);
  for (int64_t seed = first; seed < first + count && !::testing::Test::HasFatalFailure(); ++seed) {
    check(unsigned(seed));
    // A few failures say enough.
    if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > 3)
      break;
  }
  testing::count("random graphs", count);
}

}  // namespace
}  // namespace graphc

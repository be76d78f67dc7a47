// SPDX-License-Identifier: Apache-2.0
// The running error bounds that random graphs are compared under: they hold, and they are sharp.
#include "tests/testing/rounding_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "ir/build.h"
#include "ir/evaluate.h"
#include "ir/rewrite.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/testing/op_cases.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/rounding_bound_scalar.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;
constexpr int64_t kElements = 64;

/// An elementwise op on operands of f32 and bool, each with an error that is an input too:
/// results are the value and its error.
struct ElementwiseCase {
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<DType> operands;
  GraphPtr value, bounded;
};

std::optional<ElementwiseCase> elementwise_case(const Op& op, const Sample& sample) {
  ElementwiseCase made{&op, sample.attributes, {}, nullptr, nullptr};
  for (const Type& type : sample.operands) {
    if (type.dtype != DType::f32 && type.dtype != DType::boolean) return {};
    made.operands.push_back(type.dtype);
  }
  const Shape shape{kElements};
  auto value = std::make_unique<Graph>("value"), bounded = std::make_unique<Graph>("bounded");
  Values inputs;
  std::vector<Bounded> operands;
  for (DType dtype : made.operands) {
    inputs.push_back(value->input({dtype, shape}, "x"));
    const Value x = bounded->input({dtype, shape}, "x");
    operands.push_back({x, bounded->input({DType::f32, shape}, "error")});
  }
  const Node& node = value->add(op, inputs, sample.attributes);
  const Bounded result = run_elementwise(node, operands, *bounded);
  if (!result.error) return {};
  value->set_results({node.result()});
  bounded->set_results({result.value, broadcast_to(result.error, shape)});
  made.value = freeze(std::move(value));
  made.bounded = freeze(std::move(bounded));
  return made;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  /// Values in [-3, 3), some of them 0, each with an error from nothing to more than itself.
  Literals operands(const ElementwiseCase& c) {
    constexpr double kErrors[] = {0, 1e-6, 1e-3, 0.2, 2};
    Literals inputs;
    for (DType dtype : c.operands) {
      Literal x(Type{DType::f64, {kElements}}), error = x;
      for (double& v : x.mutable_data<double>())
        v = dtype == DType::boolean ? double(random_() % 2) : random_() % 8 ? between(-3, 3) : 0;
      for (double& e : error.mutable_data<double>())
        e = dtype == DType::boolean ? double(random_() % 2) : kErrors[random_() % 5];
      inputs.push_back(dtype == DType::boolean ? x.converted(dtype) : x);
      inputs.push_back(error);
    }
    return inputs;
  }

  /// Operands as far away as their errors allow: at the ends, or anywhere between them.
  Literals moved(const Literals& operands) {
    Literals result;
    for (size_t i = 0; i < operands.size(); i += 2) {
      Literal x = operands[i].converted(DType::f64);
      const bool flag = operands[i].dtype() == DType::boolean;
      auto values = x.mutable_data<double>();
      for (size_t k = 0; k < values.size(); ++k) {
        const double error = operands[i + 1].element(int64_t(k));
        const double by = random_() % 2 ? between(-1, 1) : random_() % 2 ? 1 : -1;
        values[k] = flag ? (error > 0 ? double(random_() % 2) : values[k]) : values[k] + error * by;
      }
      result.push_back(flag ? x.converted(DType::boolean) : x);
    }
    return result;
  }

 private:
  std::mt19937 random_;
};

/// Compares the op at moved operands with its bound; returns the largest part of a bound, well
/// above rounding, that was reached, or 1 when there is none so large.
double reach_of(const ElementwiseCase& c, unsigned seed) {
  Draw draw(seed);
  double reach = 0;
  bool large = false;
  for (int round = 0; round < 8; ++round) {
    const Literals operands = draw.operands(c);
    const Literals bounded = evaluate(*c.bounded, operands, {}, Precision::f64).results;
    for (int again = 0; again < 40; ++again) {
      const Literal moved = evaluate(*c.value, draw.moved(operands), {}, Precision::f64).results[0];
      for (int64_t k = 0; k < kElements; ++k) {
        const double error = bounded[1].element(k);
        if (!std::isfinite(error)) continue;
        const double difference = std::abs(moved.element(k) - bounded[0].element(k));
        EXPECT_LE(difference, error * (1 + 1e-9)) << "element " << k << " of round " << round;
        if (!(difference <= error * (1 + 1e-9))) return reach;
        if (error <= 1e-5) continue;
        large = true;
        reach = std::max(reach, difference / error);
      }
    }
  }
  return large ? reach : 1;
}

TEST(RoundingBound, HoldsAndIsReachedForEveryElementwiseOp) {
  int ops = 0;
  for (const Op* op : all_ops()) {
    if (!is_elementwise(*op) || op->samples == nullptr) continue;
    for (const Sample& sample : op->samples()) {
      const auto c = elementwise_case(*op, sample);
      if (!c) continue;
      SCOPED_TRACE(op->name);
      EXPECT_GT(reach_of(*c, unsigned(++ops)), 0.2);
      break;
    }
  }
  EXPECT_GE(ops, 40);
}

/// The graph of an op whose operands of floats are not exact.
GraphPtr with_rounded_operands(const Graph& graph) {
  auto made = std::make_unique<Graph>("rounded");
  Values operands;
  for (Value input : graph.inputs()) {
    const Value x = made->input(input.type(), input.name());
    operands.push_back(x.dtype() == DType::f32 ? x * (1.0 / 3) : x);
  }
  made->set_results(inline_graph(graph, operands, *made));
  return freeze(std::move(made));
}

bool only_f32(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) {
      if (is_floating(type.dtype) && type.dtype != DType::f32) return false;
    }
  }
  return true;
}

bool is_bounded(const BoundedResults& results) {
  for (const Literal& bound : results.bounds) {
    for (int64_t k = 0; k < bound.elements(); ++k) {
      if (!std::isfinite(bound.element(k))) return false;
    }
  }
  return true;
}

TEST(RoundingBound, CoversTheRoundedEvaluationOfEveryOp) {
  int compared = 0, unbounded = 0;
  for (const Op* op : sampled_ops()) {
    for (const OpCase& c : op_cases(*op)) {
      if (!only_f32(*c.graph)) continue;
      SCOPED_TRACE(c.name);
      const GraphPtr graph = with_rounded_operands(*c.graph);
      const Literals inputs = random_arguments(c, 7, 0.25, 1);
      try {
        const Literals rounded = evaluate(*graph, inputs).results;
        const BoundedResults wanted = evaluate_with_bounds(*graph, inputs);
        EXPECT_EQ(beyond_bound(rounded, wanted), "");
        ++compared;
        unbounded += !is_bounded(wanted);
      } catch (const Error& error) {
        EXPECT_NE(error.message().find("outside the 0 rows"), std::string::npos) << error.message();
      }
    }
  }
  EXPECT_GT(compared, 20 * unbounded);
  EXPECT_GT(compared, 500);
}

TEST(RoundingBound, IsSharpForRandomGraphs) {
  int64_t elements = 0, loose = 0;
  double reach = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const RandomGraphOptions options{
        .nodes = 5 + int(seed % 37 % 36), .loop = seed % 2 == 1, .gradient = seed % 3 == 2};
    const GraphPtr graph =
        run_pipeline(random_graph(seed, options), parse_pipeline("autodiff")).graph;
    Draw draw(seed);
    Literals inputs;
    for (Value input : graph->inputs()) {
      inputs.emplace_back(input.type());
      for (float& x : inputs.back().mutable_data<float>()) x = float(draw.between(-1, 1));
    }
    const BoundedResults wanted = evaluate_with_bounds(*graph, inputs);
    const Literals rounded = evaluate(*graph, inputs).results;
    ASSERT_TRUE(is_bounded(wanted)) << "seed " << seed;
    ASSERT_EQ(beyond_bound(rounded, wanted), "") << "seed " << seed << "\n" << print(*graph);
    for (size_t i = 0; i < rounded.size(); ++i) {
      for (int64_t k = 0; k < rounded[i].elements(); ++k) {
        const double value = wanted.values[i].element(k), bound = wanted.bounds[i].element(k);
        ++elements;
        loose += bound > 1e-3 * std::max(1.0, std::abs(value));
        if (bound > 0) reach = std::max(reach, std::abs(rounded[i].element(k) - value) / bound);
      }
    }
  }
  EXPECT_GT(elements, 50'000);
  EXPECT_LT(loose * 100, elements);
  EXPECT_GT(reach, 0.5);
}

TEST(RoundingBound, OfATailOfASigmoidGrowsWithItsArgument) {
  const GraphPtr graph = parse_graph(R"(
graph @tail(%x: f32[2]) {
  %y = sigmoid(mul(%x, 0.3)) : f32[2]
  return %y
}
)");
  Literal x(Type{DType::f32, {2}});
  std::ranges::copy(std::array{-172.F, 172.F}, x.mutable_data<float>().begin());
  const BoundedResults results = evaluate_with_bounds(*graph, {x});
  const double tail = results.values[0].element(0);
  EXPECT_NEAR(std::log(tail), -51.6, 1e-5);
  // Half a unit of the last place of 51.6, at least, and no more than a few.
  EXPECT_GT(results.bounds[0].element(0), 0x1p-19 * tail);
  EXPECT_LT(results.bounds[0].element(0), 0x1p-16 * tail);
  EXPECT_LT(results.bounds[0].element(1), 0x1p-20);
}

/// Rows of a table by an index that a loop counts, and by one that a rounding may turn.
BoundedResults rows_taken(float x) {
  const GraphPtr graph = parse_graph(R"(
graph @rows(%table: f32[4], %x: f32[1]) {
  %zero = constant {dtype = i32, shape = [1], value = 0} : i32[1]
  %counted, %end = scan {steps = 3} carry %i = %zero with %rows = %table {
    %row = gather(%rows, %i) : f32[1]
    next %i = add(%i, 1)
    emit %row
  } : f32[3,1], i32[1]
  %tripled = mul(%x, 0.3) : f32[1]
  %turned = cast(less(%tripled, 0.3)) {dtype = i32} : i32[1]
  %other = gather(%table, %turned) : f32[1]
  return %counted, %other
}
)");
  Literal table(Type{DType::f32, {4}}), argument(Type{DType::f32, {1}});
  std::ranges::copy(std::array{1.F, 2.F, 3.F, 4.F}, table.mutable_data<float>().begin());
  argument.mutable_data<float>()[0] = x;
  return evaluate_with_bounds(*graph, {table, argument});
}

TEST(RoundingBound, OfAnIndexIsAnythingOnlyWhereItMayBeAnother) {
  for (const float x : {0.5F, 1.F}) {
    const BoundedResults results = rows_taken(x);
    for (int64_t step = 0; step < 3; ++step) {
      EXPECT_EQ(results.values[0].element(step), double(step + 1));
      EXPECT_EQ(results.bounds[0].element(step), 0);
    }
    EXPECT_EQ(results.bounds[1].element(0), x == 1 ? std::numeric_limits<double>::infinity() : 0);
  }
}

TEST(RoundingBound, SumsCountTheirTerms) {
  const GraphPtr graph = parse_graph(R"(
graph @sums(%x: f32[4,1000]) {
  %y = sum(%x) {axes = [1]} : f32[4]
  return %y
}
)");
  Literal x(Type{DType::f32, {4, 1000}});
  for (float& each : x.mutable_data<float>()) each = 0.5F;
  const BoundedResults results = evaluate_with_bounds(*graph, {x});
  for (int64_t k = 0; k < 4; ++k)
    EXPECT_NEAR(results.bounds[0].element(k), 1000 * 500 * 0x1p-24, 1e-9);
}

}  // namespace
}  // namespace graphc::core::testing

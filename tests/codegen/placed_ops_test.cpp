// SPDX-License-Identifier: Apache-2.0
// Every op where graphs put it: with nothing but leaves for operands, and in a loop that carries a
// value, on operands that change with each step or do not (tests/testing/op_cases.h). With the
// extents of the op's samples and a sample of the other extents, 0 and 1 among them
// (tests/testing/samples.h). Each on every target, against the evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/evaluate.h"
#include "ir/text.h"
#include "tests/testing/counts.h"
#include "tests/testing/op_cases.h"
#include "tests/testing/samples.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {
namespace {

using Literals = std::vector<Literal>;

Literals run(const OpCase& c, const Literals& arguments, const Target& target,
             const CompileOptions& options) {
  CompileReport report;
  const auto executable = compile(c.graph, target, options, report);
  std::vector<Tensor> inputs, outputs;
  for (const Literal& argument : arguments) inputs.emplace_back(argument);
  for (const Argument& output : executable->signature().outputs) outputs.emplace_back(output.type);
  executable->run(inputs, outputs);
  Literals results;
  for (const Tensor& output : outputs) results.push_back(output.copy());
  return results;
}

/// The first element that is further from `wanted` than rounding explains, or nothing.
std::string difference(const Literal& found, const Literal& wanted, const Literal& rounded) {
  double largest = 1, error = 0;
  for (int64_t k = 0; k < wanted.elements(); ++k) {
    if (!std::isfinite(wanted.element(k)) || !std::isfinite(rounded.element(k))) continue;
    largest = std::max(largest, std::abs(wanted.element(k)));
    error = std::max(error, std::abs(wanted.element(k) - rounded.element(k)));
  }
  for (int64_t k = 0; k < wanted.elements(); ++k) {
    const double x = found.element(k), y = wanted.element(k), r = rounded.element(k);
    if (x == y || x == r || (std::isnan(x) && std::isnan(y))) continue;
    const double tolerance = is_floating(found.dtype()) ? 20 * error + 3e-6 * largest : 0;
    if (std::abs(x - y) <= tolerance) continue;
    return fmt::format("element {}: wanted {}, found {}, tolerance {}", k, y, x, tolerance);
  }
  return {};
}

/// The results of both precisions, or nothing where the arguments are refused.
std::optional<std::pair<Literals, Literals>> evaluated(const OpCase& c, const Literals& arguments) {
  try {
    return std::pair{evaluate(*c.graph, arguments, {}, Precision::f64).results,
                     evaluate(*c.graph, arguments, {}, Precision::f32).results};
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    return std::nullopt;
  }
}

/// What differs on a target, in a variant.
void expect_values(const OpCase& c, const Literals& arguments,
                   const std::pair<Literals, Literals>& wanted, const TargetLevel& level,
                   const std::string& variant) {
  SCOPED_TRACE(level.text() + " " + variant);
  try {
    const CompileOptions options = level.options({.variant = variant, .threads = 2});
    const Literals found = run(c, arguments, level.target(), options);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(difference(found[i], wanted.first[i], wanted.second[i]), "")
          << "result " << i << "\n"
          << print(*c.graph);
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << print(*c.graph);
  }
}

/// Cases take turns of the variants.
int64_t expect_values(const std::vector<OpCase>& cases, const std::vector<std::string>& variants) {
  int64_t tried = 0;
  unsigned number = 0;
  for (const OpCase& c : cases) {
    ++number;
    SCOPED_TRACE(c.name);
    const Literals arguments = random_arguments(c, 7, 0.2, 0.8);
    const auto wanted = evaluated(c, arguments);
    if (!wanted) continue;
    for (const TargetLevel& level : target_levels_for(number, 0)) {
      expect_values(c, arguments, *wanted, level, variants[number % variants.size()]);
      ++tried;
    }
  }
  return tried;
}

/// Keeps the cases of an op's own extents and half of the others, which `number` counts.
void sample(std::vector<OpCase>& cases, size_t& number) {
  std::erase_if(cases, [&](const OpCase& c) { return !c.as_sampled && !is_sampled(number++, 5); });
}

constexpr int kSixths = 6;

class PlacedOpsCpu : public ::testing::TestWithParam<int> {
 protected:
  /// Every sixth op.
  std::vector<const Op*> ops() const {
    std::vector<const Op*> chosen;
    int number = 0;
    for (const Op* op : sampled_ops()) {
      if (number++ % kSixths == GetParam()) chosen.push_back(op);
    }
    return chosen;
  }
};

TEST_P(PlacedOpsCpu, OfLeavesAloneHaveTheirValues) {
  int64_t tried = 0;
  size_t of_other_extents = 0;
  for (const Op* op : ops()) {
    std::vector<OpCase> cases = leaf_cases(*op);
    sample(cases, of_other_extents);
    tried += expect_values(cases, {"fused", "basic"});
  }
  EXPECT_GT(tried, 50);
  count("ops of leaves", tried);
}

TEST_P(PlacedOpsCpu, InALoopHaveTheirValues) {
  int64_t tried = 0;
  size_t of_other_extents = 0;
  for (const Op* op : ops()) {
    std::vector<OpCase> cases = loop_cases(*op);
    sample(cases, of_other_extents);
    tried += expect_values(cases, {"fused"});
  }
  EXPECT_GT(tried, 200);
  count("ops in a loop", tried);
}

INSTANTIATE_TEST_SUITE_P(Ops, PlacedOpsCpu, ::testing::Range(0, kSixths));

}  // namespace
}  // namespace graphc::core::testing

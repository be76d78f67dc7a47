// SPDX-License-Identifier: Apache-2.0
// What the evaluator's tests share: literals from lists, and one-result programs.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "ir/build.h"
#include "ir/evaluate.h"

namespace graphc::core::testing {

/// A literal of any type from a list of doubles, each of which the type holds exactly (f32 and bf16
/// round to nearest).
inline Literal literal(DType dtype, const Shape& shape, const std::vector<double>& elements) {
  return Literal(std::span<const double>(elements), shape).converted(dtype);
}
inline Literal f32(const Shape& shape, const std::vector<double>& elements) {
  return literal(DType::f32, shape, elements);
}
inline Literal i64(const std::vector<int64_t>& elements) {
  return Literal(std::span<const int64_t>(elements), {int64_t(elements.size())});
}

inline std::vector<double> numbers(const Literal& literal) {
  std::vector<double> result;
  for (int64_t i = 0; i < literal.elements(); ++i) result.push_back(literal.element(i));
  return result;
}

/// All results of the graph that `write` makes of values for the inputs.
inline std::vector<Literal> run_all(const std::vector<Literal>& inputs,
                                    const std::function<Values(Graph&, const Values&)>& write,
                                    Precision precision = Precision::f32) {
  Graph graph("test");
  Values values;
  for (const Literal& input : inputs) values.push_back(graph.input(input.type(), "x"));
  graph.set_results(write(graph, values));
  return evaluate(graph, inputs, {}, precision).results;
}

/// The one result of `write`.
inline Literal run(const std::vector<Literal>& inputs,
                   const std::function<Value(const Values&)>& write,
                   Precision precision = Precision::f32) {
  return run_all(
      inputs, [&](Graph&, const Values& x) -> Values { return {write(x)}; }, precision)[0];
}

/// A type and elements: what most tests expect of a result.
inline ::testing::AssertionResult is(const Literal& found, const Literal& wanted) {
  if (found == wanted) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "found " << to_string(found.type()) << " " << found.to_text() << ", wanted "
         << to_string(wanted.type()) << " " << wanted.to_text();
}

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// Products whose factors are rounded, on every target that has such: of small whole numbers, which
// every precision holds, exactly those of the evaluator; of others, as far from them as rounding
// the factors explains. An executable compiles precision_trial.cpp and instantiates the cases.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::core::testing {

struct PrecisionCase {
  std::string name;  ///< of the case: letters, digits and underscores
  const Target* target = nullptr;
  Precision precision = Precision::f32;
  std::string architecture = {};
  /// Placements of loops that the target has (CudaOptions::placement).
  std::vector<std::optional<cuda::Placement>> placements = {std::nullopt};
  /// What there must be while it runs: a driver. May be empty.
  std::function<std::shared_ptr<void>()> device = {};
};

void PrintTo(const PrecisionCase& which, std::ostream* out);

/// Inputs of the graph, drawn from a seed: whole numbers from -most to most, or any between.
std::vector<Literal> drawn_inputs(const Graph& graph, unsigned seed, double most, bool whole);

class PrecisionTrial : public ::testing::TestWithParam<PrecisionCase> {
 protected:
  void SetUp() override;

  std::vector<Literal> run(const GraphPtr& graph, const std::vector<Literal>& given);
  /// Exactly what the evaluator has, for whole numbers up to `most`.
  void expect_exact(const std::string& text, double most, unsigned seed);
  /// What the evaluator has in f64, up to bounds; how large these are, next to the results.
  double expect_near(const GraphPtr& graph, unsigned seed, double most = 1);
  double roundoff() const;
  /// The graph with casts of what the target stores in bf16.
  GraphPtr as_stored(const GraphPtr& graph) const;

  std::shared_ptr<void> device_;
  std::optional<cuda::Placement> placement_;
};

/// What gtest appends to the name of a test: that of its case.
inline std::string name_of_case(const ::testing::TestParamInfo<PrecisionCase>& info) {
  return info.param.name;
}

}  // namespace graphc::core::testing

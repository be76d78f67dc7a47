// SPDX-License-Identifier: Apache-2.0
// Graphs shared out among ranks that are threads, each with an executable of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "tests/passes/values.h"
#include "tests/testing/random_graph.h"
#include "tests/testing/ranks.h"

namespace graphc::core::testing {

/// A language model of two layers, whose gradients are there one after another.
extern const char* const kTwoLayers;
/// The axes of its inputs that ranks share out.
extern const std::vector<int> kAxes;

/// What a rank has after its runs.
struct After {
  std::vector<Literal> results;
  std::map<std::string, Literal> states;

  bool operator==(const After&) const = default;
};

/// Runs the graph that is compiled with these options.
After run_on(const Target& target, const GraphPtr& graph, const CompileOptions& options,
             const Arguments& arguments, int runs);

/// The same of all ranks.
std::vector<After> run_ranks_on(const Target& target, const GraphPtr& graph,
                                const CompileOptions& options, int ranks, int shards,
                                const std::vector<int>& axes, const Arguments& arguments,
                                int runs = 1, DType gradients = DType::f32);

/// `tolerance`: of the largest element, or of 1.
void expect_near(const After& found, const After& wanted, double tolerance = 1e-4);

/// Random inputs and states, in the types of the graph.
Arguments arguments_of(const Graph& graph, unsigned seed);

/// A random graph whose inputs 2 to 4 ranks share out.
struct RankCase {
  int ranks = 1;
  GraphPtr graph;
  std::vector<int> axes;
  Arguments arguments;
  After wanted;      ///< by the evaluator in f32
  std::string text;  ///< for a trace
};
/// Nothing where no input has an axis that the ranks divide.
std::optional<RankCase> random_rank_case(unsigned seed);

/// All ranks have the same bits, which are near to what is wanted.
void expect_case(const RankCase& wanted, const std::vector<After>& found);

}  // namespace graphc::core::testing

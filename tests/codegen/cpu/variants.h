// SPDX-License-Identifier: Apache-2.0
// A graph compiled in every variant, against the evaluator.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/literal.h"

namespace graphc::testing {

/// What inputs are made of, and so how results are compared.
enum class Numbers {
  real,   ///< in [-1, 1): results agree within the running error bound of each element, and
          ///< within a tolerance for the whole where a bound is larger
  whole,  ///< of tests/testing/exact_graph.h: every element is equal (0 is -0)
};

/// Random inputs of the graph. Of real numbers integers are 0 or 1, so that they may be indices.
std::vector<Literal> random_inputs(const Graph& graph, unsigned seed, Numbers numbers);

/// Compiles the graph in the variants fused, basic and unrolled, for each of `levels` (names of
/// CPUs) and each number of threads, and runs it on random inputs. Returns what first differs from
/// the evaluator, between numbers of threads, or is thrown; empty when all agree.
std::string first_difference(const GraphPtr& graph, unsigned seed, Numbers numbers,
                             const std::vector<std::string>& levels,
                             const std::vector<int>& threads = {1, 2});

/// The names of the CPU levels the host can run.
std::vector<std::string> all_levels();

/// For a graph that first_difference() finds something about: shrinks it while that is so
/// (tests/testing/reduce_graph.h), writes it as a text test to the folder $GRAPHC_REGRESSIONS, or
/// `regressions` beside the test programs' folder, and says where it is and what is wrong.
std::string reduced_failure(const GraphPtr& graph, const std::string& name, unsigned seed,
                            Numbers numbers, const std::vector<std::string>& levels,
                            const std::vector<int>& threads = {1, 2});

/// The number in an environment variable, or `otherwise`.
int64_t number_from(const char* variable, int64_t otherwise);

}  // namespace graphc::testing

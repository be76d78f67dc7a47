// SPDX-License-Identifier: Apache-2.0
// A graph compiled in every variant, against the evaluator.
#pragma once

#include <string>
#include <vector>

#include "tests/codegen/wanted.h"
#include "tests/testing/targets.h"

namespace graphc::core::testing {

/// How a graph is compiled, and on which numbers of threads it is run.
struct Way {
  const char* variant;
  const char* unroll;
  std::vector<int> threads;
};

/// The variants fused, basic and unrolled, and one more way of writing loops out, each on all of
/// `threads`.
std::vector<Way> every_way(unsigned seed, const std::vector<int>& threads);

/// `count` of these ways for one of many seeds: first the one whose turn it is, on all of
/// `threads`, then the next ones, on one of them each. Where seeds stand for kinds of graphs with a
/// period of up to 12, every kind meets every turn.
std::vector<Way> ways_of(unsigned seed, const std::vector<int>& threads, size_t count = 4);

/// In how many ways each of many random graphs is compiled: $GRAPHC_WAYS, or `otherwise`; at least
/// one, so that none goes untried.
size_t ways_each(size_t otherwise);

/// Compiles the graph for each of `levels` in each of `ways` and for each number of threads, where
/// the target takes such options. Runs each executable twice, on random inputs and states and then
/// on other inputs and the states that the first call left. Returns what first differs from the
/// evaluator, between numbers of threads, is written though it is only read, or is thrown; empty
/// when all agree.
std::string first_difference(const GraphPtr& graph, unsigned seed, Numbers numbers,
                             const std::vector<TargetLevel>& levels, const std::vector<Way>& ways);
/// The same for these calls. Of the second only the inputs count.
std::string first_difference(const GraphPtr& graph, const Call& first, const Call& second,
                             Numbers numbers, const std::vector<TargetLevel>& levels,
                             const std::vector<Way>& ways);

/// What `fuse` says of the loops of the graph in the variant fused, and the graph; empty if each is
/// one kernel.
std::string loops_of_several_kernels(const GraphPtr& traced, std::string_view unroll = "auto");

/// For a graph that first_difference() finds something about: shrinks it while that is so in the
/// first way in which it is (tests/testing/reduce_graph.h), writes it as a text test to the folder
/// $GRAPHC_REGRESSIONS, or `regressions` beside the test programs' folder, and says where it is and
/// what is wrong.
std::string reduced_failure(const GraphPtr& graph, const std::string& name, unsigned seed,
                            Numbers numbers, const std::vector<TargetLevel>& levels,
                            const std::vector<Way>& ways);

/// How the name of a regression's file begins, by which it says of what numbers it is.
std::string prefix_of(Numbers numbers);

/// The number in an environment variable, or `otherwise`.
int64_t number_from(const char* variable, int64_t otherwise);

}  // namespace graphc::core::testing

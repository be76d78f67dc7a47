// SPDX-License-Identifier: Apache-2.0
// A graph compiled in every variant, against the evaluator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/executable.h"
#include "tests/codegen/cpu/wanted.h"

namespace graphc::testing {

/// How loops are compiled.
struct Way {
  const char* variant;
  const char* unroll;
};

/// The kernels of a graph in one way of compiling, which serve every CPU and number of threads:
/// they are formed once, as compile() does for each. The graph outlives this.
class FormedKernels {
 public:
  FormedKernels(const GraphPtr& graph, const Way& way) : graph_(graph), way_(way) {}

  /// An executable for a CPU. Throws as compile() does.
  std::unique_ptr<Executable> compile(const std::string& level, int threads);

 private:
  const GraphPtr& graph_;
  const Way way_;
  GraphPtr kernels_;
};

/// The variants fused, basic and unrolled, and one more way of writing loops out.
std::vector<Way> ways_of(unsigned seed);

/// Compiles the graph in each of `ways` (none: those of the seed), for each of `levels` (names of
/// CPUs) and each number of threads. Runs each executable twice, on random inputs and states and
/// then on other inputs and the states that the first call left. Returns what first differs from
/// the evaluator, between numbers of threads, is written though it is only read, or is thrown;
/// empty when all agree.
std::string first_difference(const GraphPtr& graph, unsigned seed, Numbers numbers,
                             const std::vector<std::string>& levels,
                             const std::vector<int>& threads = {1, 2},
                             const std::vector<Way>& ways = {});

/// The names of the CPU levels the host can run.
std::vector<std::string> all_levels();

/// For a graph that first_difference() finds something about: shrinks it while that is so in the
/// first way in which it is (tests/testing/reduce_graph.h), writes it as a text test to the folder
/// $GRAPHC_REGRESSIONS, or `regressions` beside the test programs' folder, and says where it is and
/// what is wrong.
std::string reduced_failure(const GraphPtr& graph, const std::string& name, unsigned seed,
                            Numbers numbers, const std::vector<std::string>& levels,
                            const std::vector<int>& threads = {1, 2});

/// How the name of a regression's file begins, by which it says of what numbers it is.
std::string prefix_of(Numbers numbers);

/// The number in an environment variable, or `otherwise`.
int64_t number_from(const char* variable, int64_t otherwise);

}  // namespace graphc::testing

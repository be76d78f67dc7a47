// SPDX-License-Identifier: Apache-2.0
// Random graphs, half of them with a loop and a third of them gradients, compiled in every variant:
// every element agrees with the f64 evaluator within its running error bound, and bits do not
// depend on the number of threads. Then graphs of whole numbers, which agree exactly.
// GRAPHC_RANDOM_GRAPHS and GRAPHC_EXACT_GRAPHS say how many, GRAPHC_SEED which is the first. A
// graph that fails is reduced and written down as tests/codegen/cpu/variants.h says.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/codegen/cpu/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::testing {
namespace {

/// A level the host can run, another for each seed; the variants of a seed share it.
std::vector<std::string> level(unsigned seed) {
  const std::vector<std::string> all = all_levels();
  return {all[seed % all.size()]};
}

void check(const GraphPtr& graph, unsigned seed, Numbers numbers, const std::vector<int>& threads) {
  const std::string what = first_difference(graph, seed, numbers, level(seed), threads);
  if (what.empty()) return;
  ADD_FAILURE() << what << "\n"
                << print(*graph) << "\n"
                << reduced_failure(graph, "seed_" + std::to_string(seed), seed, numbers,
                                   level(seed), threads);
}

/// Calls `check_one` with as many seeds as `variable` says; a few failures say enough.
template <typename CheckOne>
void go_through_seeds(const char* variable, int64_t otherwise, const char* name,
                      const CheckOne& check_one) {
  const int64_t first = number_from("GRAPHC_SEED", 1), count = number_from(variable, otherwise);
  const auto* result = ::testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int64_t seed = first; seed < first + count && result->total_part_count() <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    check_one(unsigned(seed));
  }
  testing::count(name, count);
}

TEST(RandomGraphsCpu, AgreeWithTheEvaluator) {
  go_through_seeds("GRAPHC_RANDOM_GRAPHS", 500, "random graphs", [](unsigned seed) {
    const RandomGraphOptions options{
        .nodes = 5 + int(seed * 7 % 30), .loop = seed % 2 == 1, .gradient = seed % 3 == 2};
    check(random_graph(seed, options), seed, Numbers::real, {1, 2});
  });
}

TEST(RandomGraphsCpu, OfWholeNumbersAreExact) {
  go_through_seeds("GRAPHC_EXACT_GRAPHS", 200, "exact random graphs", [](unsigned seed) {
    check(exact_graph(seed, 5 + int(seed * 7 % 25), seed % 2 == 1), seed, Numbers::whole, {1, 3});
  });
}

}  // namespace
}  // namespace graphc::testing

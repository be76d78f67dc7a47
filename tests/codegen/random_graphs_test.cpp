// SPDX-License-Identifier: Apache-2.0
// Random graphs, half of them with a loop and a third gradients, compiled for every target in ways
// that take turns (tests/codegen/variants.h): every element agrees with the f64 evaluator within
// its running error bound, and bits do not depend on the number of threads. Then graphs of whole
// numbers, which agree exactly. GRAPHC_RANDOM_GRAPHS and GRAPHC_EXACT_GRAPHS say how many,
// GRAPHC_SEED which is the first, GRAPHC_WAYS in how many ways each is compiled. A graph that fails
// is reduced and written down as tests/codegen/variants.h says.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "ir/text.h"
#include "tests/codegen/variants.h"
#include "tests/testing/counts.h"
#include "tests/testing/exact_graph.h"
#include "tests/testing/random_graph.h"

namespace graphc::core::testing {
namespace {

/// What a seed stands for. Six seeds in a row have every kind of graph, the next six have them at
/// another level of each target, and 37 is coprime to both: no size is tied to a kind or a level.
struct DrawnOptions {
  RandomGraphOptions options;
  std::vector<TargetLevel> levels;
};
DrawnOptions drawn_options(unsigned seed) {
  return {{.nodes = 5 + int(seed % 37 % 36), .loop = seed % 2 == 1, .gradient = seed % 3 == 2},
          target_levels_for(seed, seed / 6)};
}

void check(const GraphPtr& graph, unsigned seed, Numbers numbers, const std::vector<Way>& ways) {
  const std::vector<TargetLevel> levels = drawn_options(seed).levels;
  const std::string what = first_difference(graph, seed, numbers, levels, ways);
  if (what.empty()) return;
  ADD_FAILURE() << what << "\n"
                << print(*graph) << "\n"
                << reduced_failure(graph, "seed_" + std::to_string(seed), seed, numbers, levels,
                                   ways);
}

struct Seeds {
  int64_t first, count;
};

/// The seeds that the environment asks for, or `otherwise`.
Seeds asked_for(const char* variable, Seeds otherwise) {
  return {number_from("GRAPHC_SEED", otherwise.first), number_from(variable, otherwise.count)};
}

/// Calls `check_one` with the seeds; a few failures say enough.
template <typename CheckOne>
void go_through(Seeds seeds, const char* name, const CheckOne& check_one) {
  const auto* result = ::testing::UnitTest::GetInstance()->current_test_info()->result();
  const int64_t end = seeds.first + seeds.count;
  for (int64_t seed = seeds.first; seed < end && result->total_part_count() <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    check_one(unsigned(seed));
  }
  testing::count(name, seeds.count);
}

void check_real(Seeds seeds, size_t ways) {
  std::set<std::tuple<bool, bool, std::string>> kinds;
  go_through(seeds, "random graphs", [&](unsigned seed) {
    const DrawnOptions what = drawn_options(seed);
    for (const TargetLevel& level : what.levels)
      kinds.emplace(what.options.loop, what.options.gradient, level.text());
    check(random_graph(seed, what.options), seed, Numbers::real, ways_of(seed, {1, 2}, ways));
  });
  EXPECT_TRUE(seeds.count < 300 || kinds.size() == 4 * all_target_levels().size()) << kinds.size();
}

void check_whole(Seeds seeds, size_t ways) {
  go_through(seeds, "exact random graphs", [&](unsigned seed) {
    const RandomGraphOptions options = drawn_options(seed).options;
    check(exact_graph(seed, options.nodes, options.loop), seed, Numbers::whole,
          ways_of(seed, {1, 3}, ways));
  });
}

constexpr int64_t kParts = 4;

/// The graphs of every run, in parts that run side by side.
class RandomGraphsCpu : public ::testing::TestWithParam<int64_t> {
 protected:
  Seeds part_of(Seeds all) const {
    const int64_t begin = all.count * GetParam() / kParts;
    const int64_t end = all.count * (GetParam() + 1) / kParts;
    return {all.first + begin, end - begin};
  }
};

TEST_P(RandomGraphsCpu, AgreeWithTheEvaluator) {
  check_real(part_of(asked_for("GRAPHC_RANDOM_GRAPHS", {1, 120})), ways_each(2));
}

TEST_P(RandomGraphsCpu, OfWholeNumbersAreExact) {
  check_whole(part_of(asked_for("GRAPHC_EXACT_GRAPHS", {1, 80})), ways_each(2));
}

INSTANTIATE_TEST_SUITE_P(Part, RandomGraphsCpu, ::testing::Range<int64_t>(0, kParts));

/// 20,000 graphs beyond the first 500, in parts that run side by side.
class RandomGraphsSlow : public ::testing::TestWithParam<int64_t> {};

TEST_P(RandomGraphsSlow, AgreeWithTheEvaluator) {
  check_real({501 + 3900 * GetParam(), 3900}, ways_each(4));
}

TEST_P(RandomGraphsSlow, OfWholeNumbersAreExact) {
  check_whole({201 + 400 * GetParam(), 400}, ways_each(4));
}

INSTANTIATE_TEST_SUITE_P(Part, RandomGraphsSlow, ::testing::Range<int64_t>(0, 5));

}  // namespace
}  // namespace graphc::core::testing

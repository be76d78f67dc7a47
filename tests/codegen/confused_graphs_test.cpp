// SPDX-License-Identifier: Apache-2.0
// Graphs made of confusions (tests/testing/confused_graph.h), compiled for every target in ways
// that take turns (tests/codegen/variants.h), run twice, on one thread, two and three: of whole
// numbers, which agree exactly, and of real ones of several sizes. GRAPHC_CONFUSED_GRAPHS says how
// many, GRAPHC_SEED which is the first, GRAPHC_WAYS in how many ways each is compiled: the one
// whose turn it is and those after it. A graph that fails is reduced and written down as
// tests/codegen/variants.h says.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/codegen/variants.h"
#include "tests/testing/confused_graph.h"
#include "tests/testing/counts.h"

namespace graphc::core::testing {
namespace {

/// A quarter of the seeds have a gradient; all four kinds meet each level of each target.
struct Drawn {
  GraphPtr graph;
  std::vector<TargetLevel> levels;
};
Drawn drawn(unsigned seed, bool real) {
  return {confused_graph(seed, {.real = real, .gradient = seed % 4 == 3}),
          target_levels_for(seed, seed / 4)};
}

void check(unsigned seed, Numbers numbers, size_t ways_count) {
  const Drawn what = drawn(seed, numbers != Numbers::whole);
  const std::vector<Way> ways = ways_of(seed, {1, 2, 3}, ways_count);
  const std::string fault = first_difference(what.graph, seed, numbers, what.levels, ways);
  if (fault.empty()) return;
  ADD_FAILURE() << fault << "\n"
                << print(*what.graph) << "\n"
                << reduced_failure(what.graph, "confused_" + std::to_string(seed), seed, numbers,
                                   what.levels, ways);
}

void go_through(int64_t first, int64_t count, Numbers numbers, size_t ways) {
  const auto* result = ::testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int64_t seed = first; seed < first + count && result->total_part_count() <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    check(unsigned(seed), numbers, ways);
  }
  testing::count("confused graphs", count);
}

/// In parts, so that they run side by side.
class ConfusedGraphsCpu : public ::testing::TestWithParam<int64_t> {
 protected:
  static constexpr int64_t kParts = 4;

  static void go_through_part(int64_t count, Numbers numbers) {
    const int64_t begin = count * GetParam() / kParts, end = count * (GetParam() + 1) / kParts;
    go_through(number_from("GRAPHC_SEED", 1) + begin, end - begin, numbers, ways_each(2));
  }
};

TEST_P(ConfusedGraphsCpu, OfWholeNumbersAreExact) {
  go_through_part(number_from("GRAPHC_CONFUSED_GRAPHS", 120), Numbers::whole);
}

TEST_P(ConfusedGraphsCpu, OfRealNumbersAgreeAtEverySize) {
  go_through_part(number_from("GRAPHC_CONFUSED_GRAPHS", 120) / 3, Numbers::scaled);
}

INSTANTIATE_TEST_SUITE_P(Part, ConfusedGraphsCpu, ::testing::Range<int64_t>(0, 4));

/// 20,000 graphs beyond the first 300, in parts that run side by side.
class ConfusedGraphsSlow : public ::testing::TestWithParam<int64_t> {};

TEST_P(ConfusedGraphsSlow, OfWholeNumbersAreExact) {
  go_through(301 + 2940 * GetParam(), 2940, Numbers::whole, ways_each(4));
}

TEST_P(ConfusedGraphsSlow, OfRealNumbersAgreeAtEverySize) {
  go_through(101 + 980 * GetParam(), 980, Numbers::scaled, ways_each(4));
}

INSTANTIATE_TEST_SUITE_P(Part, ConfusedGraphsSlow, ::testing::Range<int64_t>(0, 5));

}  // namespace
}  // namespace graphc::core::testing

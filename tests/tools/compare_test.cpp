// SPDX-License-Identifier: Apache-2.0
// When graphc check takes a value for the wanted one.
#include "tools/commands/compare.h"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

namespace graphc::core::commands {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Literal floats(const std::vector<float>& elements) {
  return Literal(std::span(elements), {int64_t(elements.size())});
}

Literal doubles(const std::vector<double>& elements) {
  return Literal(std::span(elements), {int64_t(elements.size())});
}

std::string difference(const Literal& found, const Literal& wanted,
                       const std::vector<Literal>& forms = {}) {
  return compare(found, wanted, 1e-4, forms).difference;
}

TEST(Compare, FindsDifferencesAtEveryScale) {
  for (const float scale : {1e-30f, 1e-12f, 1e-5f, 1.f, 1e5f, 1e30f}) {
    const Literal wanted = floats({scale, -2 * scale, scale / 8});
    EXPECT_THAT(difference(wanted, wanted), IsEmpty()) << scale;
    const Literal near = floats({scale, -2 * scale, scale * (1 / 8.f + 1e-4f)});
    EXPECT_THAT(difference(near, wanted), IsEmpty()) << scale;
    EXPECT_NEAR(compare(near, wanted, 1e-4).largest, 5e-5, 1e-6) << scale;
    EXPECT_THAT(difference(floats({scale, -2 * scale, scale * (1 / 8.f + 3e-4f)}), wanted),
                Not(IsEmpty()))
        << scale;
  }
}

TEST(Compare, NamesTheFirstElementThatDiffers) {
  EXPECT_EQ(difference(floats({1, 2, 5}), floats({1, 3, 4})),
            "element 1 is 2: the evaluator has 3");
}

TEST(Compare, ZeroIsExactWhereEverythingWantedIsZero) {
  EXPECT_THAT(difference(floats({0, 1e-30f}), floats({0, 0})), Not(IsEmpty()));
  EXPECT_THAT(difference(floats({0, -0.f}), floats({0, 0})), IsEmpty());
  // Beside other numbers a zero is as inexact as they are.
  EXPECT_THAT(difference(floats({1, 1e-6f}), floats({1, 0})), IsEmpty());
}

TEST(Compare, DenormalsMayBeFlushedInEachTermOfASum) {
  EXPECT_THAT(difference(floats({0, 0}), floats({1e-39f, -1e-38f})), IsEmpty());
  EXPECT_THAT(difference(floats({1e-39f, 0}), floats({0, 0})), Not(IsEmpty()));
  const Literal wanted = floats({5e-37f, 0}), found = floats({0, 0});
  EXPECT_THAT(difference(found, wanted), Not(IsEmpty()));
  EXPECT_THAT(compare(found, wanted, 1e-4, {}, 100).difference, IsEmpty());
  EXPECT_THAT(compare(found, wanted, 1e-4, {}, 10).difference, Not(IsEmpty()));
  // Of f64 they are smaller.
  EXPECT_THAT(difference(doubles({0}), doubles({1e-39})), Not(IsEmpty()));
  EXPECT_THAT(difference(doubles({0}), doubles({1e-308})), IsEmpty());
}

TEST(Compare, WhatOverflowsIsAnyInfinityOrNan) {
  const std::vector<Literal> forms{doubles({-1e40, 1}), doubles({-1e40, 1})};
  for (const float found : {kInfinity, -kInfinity, kNan})
    EXPECT_THAT(difference(floats({found, 1}), floats({-kInfinity, 1}), forms), IsEmpty()) << found;
  EXPECT_THAT(difference(floats({-3e38f, 1}), floats({-kInfinity, 1}), forms), Not(IsEmpty()));
  EXPECT_THAT(difference(floats({-kInfinity, kNan}), floats({-kInfinity, 1}), forms),
              Not(IsEmpty()));
}

TEST(Compare, WhereRoundingDecidesSomeIntegersItMayDecideAFewOthers) {
  const auto integers = [](int changed, int from) {
    std::vector<int32_t> all(1000, 7);
    for (int i = from; i < from + changed; ++i) all[size_t(i)] = 8;
    return Literal(std::span<const int32_t>(all), {1000});
  };
  const Literal wanted = integers(0, 0);
  const std::vector<Literal> forms{wanted, integers(2, 0)}, same{wanted, wanted};
  EXPECT_THAT(difference(integers(2, 500), wanted, forms), IsEmpty());
  EXPECT_THAT(difference(integers(10, 500), wanted, forms), IsEmpty());
  // A hundredth of all is the most, however many a rounding decides.
  EXPECT_THAT(difference(integers(11, 500), wanted, forms), Not(IsEmpty()));
  const std::vector<Literal> many{wanted, integers(400, 0)};
  EXPECT_THAT(difference(integers(11, 500), wanted, many), Not(IsEmpty()));
  EXPECT_THAT(difference(integers(1, 500), wanted, same), Not(IsEmpty()));
}

TEST(Compare, NanAndInfinitiesAreTheSame) {
  EXPECT_THAT(difference(floats({kNan, kInfinity, 1}), floats({kNan, kInfinity, 1})), IsEmpty());
  const std::vector<float> all{kNan, kInfinity, -kInfinity, 3e38f, 0};
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j) continue;
      EXPECT_THAT(difference(floats({1, all[i]}), floats({1, all[j]})), Not(IsEmpty()))
          << all[i] << " for " << all[j];
    }
  }
  // They say nothing about the size of the others.
  EXPECT_THAT(difference(floats({kInfinity, kNan, 1.01f}), floats({kInfinity, kNan, 1})),
              Not(IsEmpty()));
}

TEST(Compare, AllowsWhatCancelsInTheEvaluatorToo) {
  const Literal wanted = floats({1e-8f, -3e-8f}), found = floats({4e-8f, 1e-8f});
  EXPECT_THAT(difference(found, wanted), Not(IsEmpty()));
  EXPECT_THAT(difference(found, wanted, {doubles({2e-8, -3e-8})}), IsEmpty());
  EXPECT_THAT(difference(found, wanted, {doubles({1e-8, -3e-8}), doubles({2e-8, -3e-8})}),
              IsEmpty());
  // Not more than that.
  EXPECT_THAT(difference(found, wanted, {doubles({1.1e-8, -3e-8})}), Not(IsEmpty()));
  // Where a form overflows it says nothing.
  EXPECT_THAT(difference(floats({kInfinity, 1.01f}), floats({kInfinity, 1}), {doubles({1e40, 1})}),
              Not(IsEmpty()));
}

TEST(Compare, IntegersAreEqualUnlessARoundingDecidesThem) {
  const std::vector<int32_t> two{1'000'000'000, 7}, other{1'000'000'001, 7};
  const Literal wanted(std::span<const int32_t>(two), {2}),
      found(std::span<const int32_t>(other), {2});
  EXPECT_EQ(difference(found, wanted), "element 0 is 1000000001: the evaluator has 1000000000");
  EXPECT_THAT(difference(found, wanted, {wanted, wanted}), Not(IsEmpty()));
  EXPECT_THAT(difference(found, wanted, {wanted, found}), IsEmpty());
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_EQ(difference(Literal::of(large), Literal::of(large - 1)),
            "element 0 is 1152921504606846977: the evaluator has 1152921504606846976");
  const Literal no = Literal::filled({DType::boolean, {3}}, 0);
  EXPECT_THAT(difference(Literal::filled({DType::boolean, {3}}, 1), no), Not(IsEmpty()));
  EXPECT_THAT(difference(no, no), IsEmpty());
}

TEST(Compare, ValuesWithoutElementsAreEqual) {
  EXPECT_THAT(difference(Literal({DType::f32, {0, 4}}), Literal({DType::f32, {0, 4}})), IsEmpty());
}

}  // namespace
}  // namespace graphc::core::commands

// SPDX-License-Identifier: Apache-2.0
// Where a NaN or an infinity begins: which op, step and line is named, and which is not.
#include "ir/not_finite.h"

#include <gmock/gmock.h>

#include "ir/text.h"
#include "tests/ir/evaluate_testing.h"

namespace graphc::core {
namespace {

using testing::f32;
using ::testing::HasSubstr;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// What is said of a graph, behind the line it names.
std::string origin_in(const std::string& text, const std::vector<Literal>& inputs,
                      const std::map<std::string, Literal>& states = {},
                      Precision precision = Precision::f32, const std::vector<Shape>& shown = {}) {
  const auto origin = first_not_finite(*parse_graph(text), inputs, states, precision, shown);
  return origin ? fmt::format("{}: {}", origin->where.line, origin->text) : "finite";
}

TEST(NotFinite, NamesTheOpWithItsCountsAndTheRangeOfItsOperands) {
  const std::string text =
      "graph @g(%x: f32[3]) {\n  %y = mul(%x, 2.)\n  %z = exp %y\n  %l = sum(%z) {axes = [0]}\n  "
      "return %l\n}";
  EXPECT_EQ(origin_in(text, {f32({3}, {1, 50, -3})}),
            "3: %z = exp %y is the first value that is not finite: 1 inf of 3 elements; its "
            "operands are finite: %y in [-6, 100]");
  EXPECT_EQ(origin_in(text, {f32({3}, {1, 50, -3})}, {}, Precision::f64), "finite");
  EXPECT_EQ(origin_in(text, {f32({3}, {1, 2, -3})}), "finite");
}

TEST(NotFinite, NamesWhatWasNotFiniteToBeginWith) {
  const std::string text =
      "graph @g(%x: f32[3]) state (%w: f32[3]) {\n  %y = mul(%x, %w)\n  return %y\n}";
  EXPECT_EQ(origin_in(text, {f32({3}, {1, kUndefined, kInfinite})}, {{"w", f32({3}, {1, 1, 1})}}),
            "1: input %x is not finite: 2 of 3 elements (1 NaN, 1 inf)");
  EXPECT_EQ(origin_in(text, {f32({3}, {1, 2, 3})}, {{"w", f32({3}, {1, kUndefined, 1})}}),
            "1: state 'w' was not finite before the step: 1 NaN of 3 elements");
}

TEST(NotFinite, NamesTheStepOfEachLoop) {
  const std::string text = R"(graph @g(%x: f32[4,3], %s0: f32[]) {
  %y, %s.end = scan %row in %x carry %s = %s0 {
    %z, %r.end = scan %t in %row carry %r = %s {
      %ratio = div(%t, %t)
      %r.1 = add(%r, %ratio)
      next %r = %r.1
      emit %ratio
    }
    next %s = %r.end
    emit %z
  }
  return %s.end
})";
  Literal x = f32({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 1});
  EXPECT_EQ(origin_in(text, {x, f32({}, {0})}),
            "4: %ratio = div %t, %t is the first value that is not finite: 1 NaN of 1 element in "
            "step 2 of the loop %z in step 2 of the loop %y; its operands are finite: %t = 0, "
            "%t = 0");
}

TEST(NotFinite, TheFirstOfSeveralIsNamedAndNaNGoesBeforeInfinity) {
  const std::string text = R"(graph @g(%x: f32[2]) {
  %big = exp(%x)
  %a = log(%x)
  %b = sqrt(%x)
  return %big, %a, %b
})";
  EXPECT_THAT(origin_in(text, {f32({2}, {100, -1})}), HasSubstr("%a = log %x"));
  EXPECT_THAT(origin_in(text, {f32({2}, {100, 1})}), HasSubstr("%big = exp %x"));
  // A NaN made of an infinity begins where that does.
  EXPECT_THAT(origin_in("graph @g(%x: f32[1]) { %e = exp(%x) %d = sub(%e, %e) return %d }",
                        {f32({1}, {100})}),
              HasSubstr("%e = exp %x"));
}

TEST(NotFinite, AnInfinityThatASelectDropsIsNotBlamed) {
  const std::string text = R"(graph @g(%x: f32[3], %y: f32[3]) {
  %log = log(%x)
  %safe = select(greater(%x, 0.), %log, 0.)
  %ratio = div(%y, %y)
  %sum = add(%safe, %ratio)
  return %sum
})";
  EXPECT_EQ(origin_in(text, {f32({3}, {0, 1, 2}), f32({3}, {1, 1, 1})}), "finite");
  EXPECT_THAT(origin_in(text, {f32({3}, {0, 1, 2}), f32({3}, {1, 0, 1})}),
              HasSubstr("%ratio = div %y, %y"));
}

TEST(NotFinite, AMaskOfInfinitiesIsNotBlamedForTheNaNBesideIt) {
  const std::string text = R"(graph @g(%x: f32[2,3], %keep: bool[3]) {
  %ratio = div(%x, %x)
  %scores = select(%keep, %ratio, -inf)
  %p = softmax(%scores)
  return %p
})";
  const Literal keep = testing::literal(DType::boolean, {3}, {1, 1, 0});
  EXPECT_EQ(origin_in(text, {f32({2, 3}, {1, 1, 1, 1, 1, 1}), keep}), "finite");
  // The masked column is NaN before the mask, and only there.
  EXPECT_EQ(origin_in(text, {f32({2, 3}, {1, 1, 0, 1, 1, 0}), keep}), "finite");
  EXPECT_THAT(origin_in(text, {f32({2, 3}, {1, 1, 1, 0, 1, 1}), keep}),
              HasSubstr("%ratio = div %x, %x is the first value that is not finite: 1 NaN of 6"));
  // A row in which everything is masked: the op that makes NaN of the constants.
  const Literal none = testing::literal(DType::boolean, {3}, {0, 0, 0});
  EXPECT_THAT(origin_in(text, {f32({2, 3}, {1, 1, 1, 1, 1, 1}), none}),
              HasSubstr("%p = softmax %scores is the first value that is not finite: 6 NaN of 6"));
}

TEST(NotFinite, PaddingIsNotBlamedWhereverElementsGo) {
  // The second row is padding, NaN on purpose, and goes through everything that moves elements.
  const std::string text = R"(graph @g(%x: f32[2,2], %w: f32[2,2], %y: f32[2,2]) {
  %h = matmul(%x, %w)
  %t = transpose(%h) {permutation = [1, 0]}
  %c = concat(%t, %t) {axis = 0}
  %p, %q = split(%c) {axis = 0, parts = 2}
  %row = sum(%q) {axes = [0]}
  %root = sqrt(%y)
  %sums = sum(%root) {axes = [1]}
  %all = add(%row, %sums)
  %first = slice(%all) {axis = 0, start = 0, limit = 1}
  return %first, %all
})";
  const Literal x = f32({2, 2}, {1, 2, kUndefined, kUndefined}), w = f32({2, 2}, {1, 0, 0, 1});
  const std::vector<Shape> shown{{1}, {1}};
  EXPECT_EQ(origin_in(text, {x, w, f32({2, 2}, {1, 1, 1, 1})}, {}, Precision::f32, shown),
            "finite");
  EXPECT_EQ(origin_in(text, {x, w, f32({2, 2}, {1, -1, 1, 1})}, {}, Precision::f32, shown),
            "7: %root = sqrt %y is the first value that is not finite: 1 NaN of 4 elements; its "
            "operands are finite: %y in [-1, 1]");
  EXPECT_THAT(origin_in(text, {x, w, f32({2, 2}, {1, 1, 1, 1})}), HasSubstr("input %x"));
}

TEST(NotFinite, AReverseLoopWithMuchThatIsNotFiniteSaysTheStepItReachedFirst) {
  const std::string text = R"(graph @g(%x: f32[5], %s0: f32[]) {
  %y, %s.end = scan {reverse = true} %t in %x carry %s = %s0 {
    %root = sqrt(%t)
    %s.1 = add(%s, %root)
    next %s = %s.1
    emit %root
  }
  %last = slice(%y) {axis = 0, start = 0, limit = 2}
  return %last
})";
  EXPECT_THAT(origin_in(text, {f32({5}, {-1, -2, 1, -3, 1}), f32({}, {0})}),
              HasSubstr("in step 1 of the loop %y"));
}

TEST(NotFinite, ConstantsAreNamedOnlyWhereNothingElseIsToBlame) {
  EXPECT_THAT(
      origin_in("graph @g(%x: f32[2]) { %m = add(%x, -inf) return %m }", {f32({2}, {1, 2})}),
      HasSubstr("what is not finite comes of the constant"));
  EXPECT_EQ(origin_in("graph @g(%x: i32[2]) { %m = add(%x, %x) return %m }",
                      {testing::literal(DType::i32, {2}, {1, 2})}),
            "finite");
}

}  // namespace
}  // namespace graphc::core

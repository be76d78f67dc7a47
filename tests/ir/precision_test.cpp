// SPDX-License-Identifier: Apache-2.0
#include "ir/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/evaluate.h"
#include "ir/text.h"

namespace graphc::core {
namespace {

using ::testing::ElementsAre;

TEST(Precision, NamesRoundTrip) {
  EXPECT_THAT(names_of(all_precisions()),
              ElementsAre("f32", "f64", "tf32", "3xtf32", "bf16", "bf16x3", "bf16x6", "fp16"));
  for (const Precision precision : all_precisions())
    EXPECT_EQ(precision_named(name_of(precision)), precision);
  for (const char* name : {"", "f24", "tf32x3", "F32", "f32 ", "bf16x"})
    EXPECT_EQ(precision_named(name), std::nullopt) << name;
}

TEST(Precision, RoundsFactorsInAWayOfItsOwn) {
  std::set<Factors> ways;
  for (const Precision precision : all_precisions()) {
    const Factors factors = factors_of(precision);
    if (factors == Factors::as_stored) continue;
    EXPECT_TRUE(ways.insert(factors).second) << name_of(precision);
    EXPECT_EQ(name_of(factors), name_of(precision));
    EXPECT_GE(unit_roundoff(precision), unit_roundoff(Precision::f32)) << name_of(precision);
  }
  EXPECT_EQ(ways.size(), size_t(Factors::three_bf16));
}

/// For every element type, what is stored is what the evaluator takes and gives.
TEST(Precision, IsStoredAsTheEvaluatorHasIt) {
  for (const Precision precision : {Precision::f32, Precision::f64}) {
    ASSERT_EQ(evaluated_precision(precision), precision);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::i64,
                              DType::u32, DType::u8, DType::boolean}) {
      const Type type{dtype, {2}}, stored = stored_type(type, precision);
      const GraphPtr graph = parse_graph(fmt::format(
          "graph @f(%x: {0}) state (%s: {0}) {{ next %s = %x return %x, %s }}", to_string(type)));
      const Literal x(stored);
      const Evaluation all = evaluate(*graph, {x}, {{"s", x}}, precision);
      EXPECT_EQ(all.results[0].type(), stored) << name_of(dtype);
      EXPECT_EQ(all.results[1].type(), stored) << name_of(dtype);
      EXPECT_EQ(all.next.at("s").type(), stored) << name_of(dtype);
    }
  }
}

TEST(Precision, OfTheEvaluatorRoundsNoFactors) {
  const GraphPtr graph = parse_graph("graph @f(%x: f32[2]) { return %x }");
  for (const Precision precision : all_precisions()) {
    const Precision evaluated = evaluated_precision(precision);
    EXPECT_EQ(factors_of(evaluated), Factors::as_stored) << name_of(precision);
    EXPECT_EQ(stored_type({DType::f32, {2}}, evaluated), stored_type({DType::f32, {2}}, precision));
    if (evaluated != precision) {
      EXPECT_THROW(evaluate(*graph, {Literal(Type{DType::f32, {2}})}, {}, precision), Error);
    }
  }
}

}  // namespace
}  // namespace graphc::core

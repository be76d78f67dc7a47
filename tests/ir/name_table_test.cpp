// SPDX-License-Identifier: Apache-2.0
// Values by their names, from none to more than the table began with.
#include "ir/name_table.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace graphc::core {
namespace {

const Type kType{DType::f32, {2}};

TEST(NameTable, FindsNothingWhereNothingIs) {
  const NameTable empty;
  EXPECT_FALSE(empty.find("a"));
  EXPECT_FALSE(empty.contains(""));
}

TEST(NameTable, FindsEachOfManyAndNoOther) {
  // Names that differ in their last characters alone, some too long for a string's own place.
  Graph graph("many");
  NameTable table, roomy;
  roomy.reserve(3000);
  for (int i = 0; i < 3000; ++i) {
    const Value value =
        graph.input(kType, fmt::format("{}{}", i % 2 == 0 ? "x" : "a_name_of_many_characters.", i));
    EXPECT_TRUE(table.insert(value));
    EXPECT_TRUE(roomy.insert(value));
    EXPECT_FALSE(table.insert(value));
  }
  for (const Value input : graph.inputs()) {
    EXPECT_EQ(table.find(input.name()), input);
    EXPECT_EQ(roomy.find(input.name()), input);
    EXPECT_EQ(graph.find(input.name()), input);
    EXPECT_FALSE(table.contains(input.name() + "0."));
  }
}

TEST(NameTable, FindsAnyResultOfANode) {
  Graph graph("results");
  const Value x = graph.input({DType::f32, {4, 3}}, "x");
  const Node& split = graph.add(ops::split, {x}, {{"axis", int64_t{0}}, {"parts", int64_t{2}}}, {},
                                {}, {"first", "x"});
  EXPECT_EQ(graph.find("first"), split.result(0));
  EXPECT_EQ(graph.find("x"), x);
  EXPECT_EQ(graph.find("x.1"), split.result(1));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
#include "ir/attribute.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/error.h"

namespace graphc::core {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Attribute, PrintsEachKind) {
  EXPECT_EQ(to_string(Attribute(true)), "true");
  EXPECT_EQ(to_string(Attribute(int64_t{-3})), "-3");
  EXPECT_EQ(to_string(Attribute(std::string("a \"b\"\\\n"))), R"("a \"b\"\\\n")");
  EXPECT_EQ(to_string(Attribute(DType::bf16)), "bf16");
  EXPECT_EQ(to_string(Attribute(std::vector<int64_t>{1, 2})), "[1,2]");
  EXPECT_EQ(to_string(Attribute(std::vector<double>{0.5, 1})), "[0.5,1.]");
}

TEST(Attribute, FloatsPrintShortestExactAndNeverLookLikeIntegers) {
  EXPECT_EQ(to_string(Attribute(0.1)), "0.1");
  EXPECT_EQ(to_string(Attribute(3.0)), "3.");
  EXPECT_EQ(to_string(Attribute(-0.0)), "-0.");
  EXPECT_EQ(to_string(Attribute(1e300)), "1e+300");
  EXPECT_EQ(to_string(Attribute(kNotANumber)), "nan");
  EXPECT_EQ(to_string(Attribute(-infinity)), "-inf");
  const double third = 1.0 / 3.0;
  EXPECT_EQ(std::stod(to_string(Attribute(third))), third);
}

TEST(Attributes, AreSortedByNameAndSetReplaces) {
  Attributes attributes{{"parts", int64_t{4}}, {"axis", int64_t{1}}};
  attributes.set("parts", int64_t{8});
  std::string names;
  for (const auto& [name, value] : attributes) names += name + "=" + to_string(value) + " ";
  EXPECT_EQ(names, "axis=1 parts=8 ");
  EXPECT_EQ(attributes.find("part"), nullptr);
  EXPECT_FALSE(attributes.empty());
  EXPECT_TRUE(Attributes{}.empty());
}

TEST(Attributes, AbsentIsTheDefault) {
  const Attributes none;
  EXPECT_EQ(none.get_bool("a", true), true);
  EXPECT_EQ(none.get_int("a", 7), 7);
  EXPECT_EQ(none.get_float("a", 0.5), 0.5);
  EXPECT_EQ(none.get_string("a", "x"), "x");
  EXPECT_EQ(none.get_dtype("a", DType::i64), DType::i64);
  EXPECT_EQ(none.get_ints("a", {1, 2}), (std::vector<int64_t>{1, 2}));
}

TEST(Attributes, PresentIsItsValue) {
  const Attributes attributes{{"b", true},
                              {"d", DType::u8},
                              {"f", 0.25},
                              {"i", int64_t{3}},
                              {"l", std::vector<int64_t>{5}},
                              {"s", std::string("t")}};
  EXPECT_EQ(attributes.get_bool("b", false), true);
  EXPECT_EQ(attributes.get_dtype("d", DType::f32), DType::u8);
  EXPECT_EQ(attributes.get_float("f", 0), 0.25);
  EXPECT_EQ(attributes.get_float("i", 0), 3.0);
  EXPECT_EQ(attributes.get_int("i", 0), 3);
  EXPECT_EQ(attributes.get_ints("l"), (std::vector<int64_t>{5}));
  EXPECT_EQ(attributes.get_string("s", ""), "t");
}

TEST(Attributes, AnotherKindIsTheUsersError) {
  const Attributes attributes{{"axis", std::string("rows")}};
  try {
    attributes.get_int("axis", 0);
    FAIL() << "a string was taken for an integer";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.message(), "attribute 'axis' is an integer: found \"rows\"");
  }
  EXPECT_THROW((Attributes{{"axis", 0.5}}).get_int("axis", 0), Error);
  EXPECT_THROW((Attributes{{"axis", true}}).get_float("axis", 0), Error);
}

TEST(Attributes, EqualityIsOfPrograms) {
  EXPECT_EQ((Attributes{{"a", kNotANumber}}), (Attributes{{"a", kNotANumber}}));
  EXPECT_NE((Attributes{{"a", 0.0}}), (Attributes{{"a", -0.0}}));
  EXPECT_NE((Attributes{{"a", 1.0}}), (Attributes{{"a", int64_t{1}}}));
  EXPECT_NE((Attributes{{"a", int64_t{1}}}), (Attributes{}));
  EXPECT_NE((Attributes{{"a", int64_t{1}}}), (Attributes{{"b", int64_t{1}}}));
  EXPECT_EQ((Attributes{{"a", std::vector<double>{kNotANumber}}}),
            (Attributes{{"a", std::vector<double>{kNotANumber}}}));
  EXPECT_NE((Attributes{{"a", std::vector<double>{0.0}}}),
            (Attributes{{"a", std::vector<double>{-0.0}}}));
}

TEST(Attributes, ACopyIsItsOwnOnceEitherIsChanged) {
  Attributes first{{"axis", int64_t(1)}};
  Attributes second = first;
  EXPECT_TRUE(first == second);
  second.set("axis", int64_t(2));
  EXPECT_EQ(first.get_int("axis", 0), 1);
  EXPECT_EQ(second.get_int("axis", 0), 2);
  const Attributes third = first;
  first.set("keep", true);
  EXPECT_EQ(third.find("keep"), nullptr);
  EXPECT_TRUE(first.get_bool("keep", false));
  EXPECT_FALSE(first == third);
}

}  // namespace
}  // namespace graphc::core

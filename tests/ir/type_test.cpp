// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/error.h"

namespace graphc::core {
namespace {

std::string message_of(const std::vector<int64_t>& extents) {
  try {
    Shape shape{std::span<const int64_t>(extents)};
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(DType, NamesRoundTrip) {
  const struct {
    DType dtype;
    const char* name;
    int64_t size;
    bool floating, integer;
  } rows[] = {
      {DType::f32, "f32", 4, true, false}, {DType::bf16, "bf16", 2, true, false},
      {DType::f64, "f64", 8, true, false}, {DType::i32, "i32", 4, false, true},
      {DType::i64, "i64", 8, false, true}, {DType::u32, "u32", 4, false, true},
      {DType::u8, "u8", 1, false, true},   {DType::boolean, "bool", 1, false, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(name_of(row.dtype), row.name);
    EXPECT_EQ(dtype_named(row.name), row.dtype);
    EXPECT_EQ(size_of(row.dtype), row.size) << row.name;
    EXPECT_EQ(is_floating(row.dtype), row.floating) << row.name;
    EXPECT_EQ(is_integer(row.dtype), row.integer) << row.name;
  }
  EXPECT_EQ(dtype_named("float"), std::nullopt);
  EXPECT_EQ(dtype_named(""), std::nullopt);
}

TEST(Shape, CountsAndIndexesFromBothEnds) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 30);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape.strides()[0], 15);
  EXPECT_EQ(shape.strides()[1], 5);
  EXPECT_EQ(shape.strides()[2], 1);
}

TEST(Shape, ScalarHasOneElementAndZeroExtentsNone) {
  EXPECT_EQ(Shape{}.rank(), 0);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{4, 0, 7}).elements(), 0);
}

TEST(Shape, EditsLeaveTheOriginal) {
  const Shape shape{2, 3};
  EXPECT_EQ(shape.with(0, 7), (Shape{7, 3}));
  EXPECT_EQ(shape.with(-1, 7), (Shape{2, 7}));
  EXPECT_EQ(shape.without(0), (Shape{3}));
  EXPECT_EQ(shape.without(-1), (Shape{2}));
  EXPECT_EQ(shape.insert(0, 9), (Shape{9, 2, 3}));
  EXPECT_EQ(shape.insert(2, 9), (Shape{2, 3, 9}));
  EXPECT_EQ(shape, (Shape{2, 3}));
}

TEST(Shape, EqualityCountsRank) {
  EXPECT_NE((Shape{2, 1}), (Shape{2}));
  EXPECT_NE((Shape{0}), (Shape{}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  // An extent that was removed leaves nothing behind.
  EXPECT_EQ((Shape{2, 3}).without(1), (Shape{2}));
}

TEST(Shape, RefusesWhatItCannotHold) {
  EXPECT_EQ(message_of({1, 1, 1, 1, 1, 1, 1, 1}), "no error");
  EXPECT_EQ(message_of({1, 1, 1, 1, 1, 1, 1, 1, 1}), "a shape has at most 8 extents: found 9");
  EXPECT_EQ(message_of({2, -1}), "an extent is at least 0: found -1");
  EXPECT_EQ(message_of({int64_t{1} << 24, int64_t{1} << 24}), "no error");
  EXPECT_EQ(message_of({int64_t{1} << 24, int64_t{1} << 24, 2}),
            "a shape has at most 2^48 elements: found [16777216,16777216,2]");
  EXPECT_EQ(message_of({INT64_MAX, INT64_MAX}),
            "a shape has at most 2^48 elements: found [9223372036854775807,9223372036854775807]");
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1}).insert(0, 1), Error);
}

TEST(Shape, BroadcastsByNumpysRule) {
  EXPECT_EQ(broadcast({2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({3}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({2, 1, 4}, {5, 1}), (Shape{2, 5, 4}));
  EXPECT_EQ(broadcast({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({1}, {0}), (Shape{0}));
  EXPECT_EQ(broadcast({2, 3}, {2}), std::nullopt);
  EXPECT_EQ(broadcast({0}, {2}), std::nullopt);
}

TEST(Type, PrintsAndMeasures) {
  EXPECT_EQ(to_string(Type{DType::f32, {20, 650}}), "f32[20,650]");
  EXPECT_EQ(to_string(Type{DType::boolean, {}}), "bool[]");
  EXPECT_EQ((Type{DType::bf16, {20, 650}}).bytes(), 26000);
  EXPECT_NE((Type{DType::f32, {2}}), (Type{DType::i32, {2}}));
  EXPECT_NE((Type{DType::f32, {2}}), (Type{DType::f32, {3}}));
}

}  // namespace
}  // namespace graphc::core

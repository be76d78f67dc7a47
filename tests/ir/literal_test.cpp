// SPDX-License-Identifier: Apache-2.0
// Literals: sharing, conversion, text and equality.
#include "ir/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

Literal floats(std::vector<float> values) {
  return Literal(std::span<const float>(values), {int64_t(values.size())});
}
Literal doubles(std::vector<double> values) {
  return Literal(std::span<const double>(values), {int64_t(values.size())});
}
Literal longs(std::vector<int64_t> values) {
  return Literal(std::span<const int64_t>(values), {int64_t(values.size())});
}

TEST(Literal, IsZeroAndAligned) {
  const Literal literal(Type{DType::f64, {3, 5}});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(literal.bytes().data()) % 64, 0u);
  EXPECT_EQ(literal.bytes().size(), 120u);
  for (double value : literal.data<double>()) EXPECT_EQ(value, 0.0);
}

TEST(Literal, DefaultIsEmpty) {
  EXPECT_EQ(Literal().elements(), 0);
  EXPECT_EQ(Literal().to_text(), "[]");
}

TEST(Literal, CopiesShareUntilWritten) {
  Literal first = floats({1, 2, 3});
  const Literal second = first;
  EXPECT_EQ(first.bytes().data(), second.bytes().data());
  first.mutable_data<float>()[1] = 9;
  EXPECT_EQ(first.to_text(), "[1, 9, 3]");
  EXPECT_EQ(second.to_text(), "[1, 2, 3]");
  const std::byte* before = first.bytes().data();
  first.mutable_data<float>()[2] = 8;
  EXPECT_EQ(first.bytes().data(), before) << "a buffer of one owner is written in place";
}

TEST(Literal, WrongNumberOfElements) {
  const std::vector<float> values{1, 2, 3};
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Literal(std::span<const float>(values), {2, 2}); }),
            "f32[2,2] has 4 elements: found 3");
}

TEST(Literal, ReadingAsAnotherTypeIsAnErrorThatNamesTheRightOne) {
  EXPECT_EQ(error_of(ErrorKind::input, [] { (void)floats({1}).data<double>(); }),
            "f32[1] is read as another type: wanted data<float>(), or converted() before it");
  error_of(ErrorKind::input, [] { (void)floats({1}).data<int32_t>(); });
}

TEST(Literal, ElementAndScalars) {
  EXPECT_EQ(longs({-3, 4}).element(0), -3.0);
  EXPECT_EQ(floats({-3, 4}).element(1), 4.0);
  EXPECT_EQ(Literal::of(2.5f).to_text(), "2.5");
  EXPECT_EQ(Literal::of(7).type(), (Type{DType::i32, {}}));
  EXPECT_EQ(Literal::filled({DType::boolean, {2}}, 1).to_text(), "[true, true]");
  error_of(ErrorKind::input, [] { (void)floats({1}).element(1); });
}

TEST(Literal, Text) {
  const std::vector<float> values{1, 0.1f, -0.0f, kFloatInfinity, std::nanf(""), 1e-30f};
  EXPECT_EQ(Literal(std::span<const float>(values), {3, 2}).to_text(),
            "[[1, 0.1], [-0, inf], [nan, 1e-30]]");
  EXPECT_EQ(Literal(Type{DType::i32, {2, 0}}).to_text(), "[[], []]");
}

TEST(Literal, EqualityIsBitwise) {
  EXPECT_EQ(floats({std::nanf("")}), floats({std::nanf("")}));
  EXPECT_FALSE(floats({0.0f}) == floats({-0.0f}));
  EXPECT_FALSE(floats({0, 0}) == Literal(Type{DType::f32, {2, 1}}));
  EXPECT_FALSE(Literal(Type{DType::f32, {1}}) == Literal(Type{DType::i32, {1}}));
}

TEST(Literal, BFloat16RoundsToNearestEven) {
  // One bf16 step at 1 is 2^-7: ties go to the even neighbour, anything past a tie goes up.
  const float step = 0x1p-7f;
  const float past_tie = std::nextafter(1 + step / 2, 2.0f);
  const Literal rounded =
      floats({1 + step / 2, 1 + 3 * step / 2, past_tie, kFloatInfinity, 0x1.fep127f, 0x1p-133f})
          .converted(DType::bf16);
  const float expected[] = {1, 1 + 2 * step, 1 + step, kFloatInfinity, 0x1.fep127f, 0x1p-133f};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(rounded.element(i), expected[i]) << i;
  const float nan = float(floats({std::nanf("")}).converted(DType::bf16).data<BFloat16>()[0]);
  EXPECT_TRUE(std::isnan(nan));
  const float low_nan = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(float(BFloat16(low_nan))));
}

TEST(Literal, BFloat16FromWiderTypesRoundsOnce) {
  // Through f32 these would land on a tie and then round to the wrong side.
  EXPECT_EQ(doubles({1 + 0x1p-8 + 0x1p-40}).converted(DType::bf16).element(0), 1 + 0x1p-7);
  EXPECT_EQ(doubles({1 + 0x3p-8 - 0x1p-40}).converted(DType::bf16).element(0), 1 + 0x1p-7);
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 52);
  EXPECT_EQ(longs({tie}).converted(DType::bf16).element(0), 0x1p60);
  EXPECT_EQ(longs({tie + 1}).converted(DType::bf16).element(0), 0x1p60 + 0x1p53);
}

TEST(Literal, BFloat16RoundTripsThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value = BFloat16::from_bits(uint16_t(bits));
    const float wide = value;
    if (std::isnan(wide)) continue;
    EXPECT_EQ(BFloat16(wide).bits, bits);
  }
}

TEST(Literal, FloatToIntegerDropsTheFraction) {
  EXPECT_EQ(doubles({2.9, -2.9, 2147483647.5}).converted(DType::i32).to_text(),
            "[2, -2, 2147483647]");
  EXPECT_EQ(doubles({-0.9, 255.9}).converted(DType::u8).to_text(), "[0, 255]");
  EXPECT_EQ(doubles({-0x1p63}).converted(DType::i64).to_text(), "[-9223372036854775808]");
}

TEST(Literal, IntegersThatDoNotFitAreErrors) {
  const auto fails = [](const Literal& literal, DType to) {
    return error_of(ErrorKind::input, [&] { (void)literal.converted(to); });
  };
  EXPECT_EQ(fails(doubles({1, 2147483648.0}), DType::i32),
            "element 1 is 2147483648, which i32 cannot hold");
  EXPECT_EQ(fails(floats({std::nanf("")}), DType::i64), "element 0 is nan, which i64 cannot hold");
  EXPECT_EQ(fails(floats({-1}), DType::u32), "element 0 is -1, which u32 cannot hold");
  EXPECT_EQ(fails(longs({256}), DType::u8), "element 0 is 256, which u8 cannot hold");
  fails(doubles({0x1p63}), DType::i64);
  fails(floats({kFloatInfinity}), DType::i32);
}

TEST(Literal, OtherConversions) {
  EXPECT_EQ(floats({0, -2, std::nanf("")}).converted(DType::boolean).to_text(),
            "[false, true, true]");
  EXPECT_EQ(longs({0, 5}).converted(DType::boolean).converted(DType::f32).to_text(), "[0, 1]");
  const int64_t odd = (int64_t{1} << 53) + 1;
  EXPECT_EQ(longs({odd}).converted(DType::i64).data<int64_t>()[0], odd);
  EXPECT_EQ(doubles({0.1}).converted(DType::f32).data<float>()[0], 0.1f);
}

TEST(Literal, BytesAreTakenAsTheyLie) {
  const std::byte bytes[] = {std::byte{1}, std::byte{0}, std::byte{2}};
  EXPECT_EQ(Literal::from_bytes({DType::u8, {3}}, bytes).to_text(), "[1, 0, 2]");
  EXPECT_EQ(error_of(ErrorKind::input, [&] { Literal::from_bytes({DType::boolean, {3}}, bytes); }),
            "a bool is 0 or 1: element 2 is 2");
  error_of(ErrorKind::input, [&] { Literal::from_bytes({DType::f32, {1}}, bytes); });
}

TEST(Literal, ReshapedShares) {
  const Literal literal = floats({1, 2, 3, 4});
  const Literal matrix = literal.reshaped({2, 2});
  EXPECT_EQ(matrix.to_text(), "[[1, 2], [3, 4]]");
  EXPECT_EQ(matrix.bytes().data(), literal.bytes().data());
}

}  // namespace
}  // namespace graphc::core

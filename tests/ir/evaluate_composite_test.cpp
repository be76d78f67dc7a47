// SPDX-License-Identifier: Apache-2.0
// The evaluator on composites: what their bodies mean, in numbers worked out without them.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/evaluate.h"
#include "tests/ir/evaluate_testing.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;
using testing::f32;
using testing::i64;
using testing::is;
using testing::literal;
using testing::numbers;
using testing::run;
using Ints = std::vector<int64_t>;

constexpr Precision kBoth[] = {Precision::f32, Precision::f64};

void expect_near(const Literal& found, const std::vector<double>& wanted, Precision precision) {
  ASSERT_EQ(found.elements(), int64_t(wanted.size()));
  const double relative = precision == Precision::f64 ? 1e-14 : 3e-7;
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found.element(int64_t(i)), wanted[i], relative * std::max(1., std::fabs(wanted[i])))
        << "element " << i;
  }
}

TEST(EvaluateComposite, MeanAndMse) {
  const Literal x = f32({2, 3}, {1, 2, 6, -1, 0, 7}), y = f32({2, 3}, {0, 2, 3, 1, 0, 5});
  for (Precision precision : kBoth) {
    expect_near(run({x}, [](auto& v) { return mean(v[0], {1}); }, precision), {3, 2}, precision);
    expect_near(run({x}, [](auto& v) { return mean(v[0]); }, precision), {2.5}, precision);
    expect_near(run(
                    {x, y}, [](auto& v) { return apply1(ops::mse, {v[0], v[1]}); }, precision),
                {3}, precision);
  }
  EXPECT_EQ(run({x}, [](auto& v) { return mean(v[0], {1}, true); }).shape(), (Shape{2, 1}));
}

TEST(EvaluateComposite, SoftmaxAndItsLogarithm) {
  const Literal x = f32({2, 2}, {1, 3, 1000, 1000});
  const double e = 1 / (1 + std::exp(2));
  for (Precision precision : kBoth) {
    expect_near(run(
                    {x}, [](auto& v) { return apply1(ops::softmax, {v[0]}); }, precision),
                {e, 1 - e, 0.5, 0.5}, precision);
    expect_near(run(
                    {x}, [](auto& v) { return apply1(ops::log_softmax, {v[0]}); }, precision),
                {std::log(e), std::log(1 - e), -std::log(2), -std::log(2)}, precision);
  }
}

TEST(EvaluateComposite, OneHotAndCrossEntropy) {
  const Literal labels = literal(DType::i32, {3}, {2, 0, 7});
  EXPECT_TRUE(is(
      run({labels}, [](auto& v) { return apply1(ops::one_hot, {v[0]}, {{"depth", int64_t{3}}}); }),
      literal(DType::boolean, {3, 3}, {0, 0, 1, 1, 0, 0, 0, 0, 0})));
  const Literal logits = f32({2, 3}, {1, 2, 0.5, -1, 4, 2}), two = literal(DType::i32, {2}, {2, 1});
  const double first = std::log(std::exp(1) + std::exp(2) + std::exp(0.5)) - 0.5;
  const double second = std::log(std::exp(-1) + std::exp(4) + std::exp(2)) - 4;
  for (Precision precision : kBoth) {
    expect_near(run(
                    {logits, two}, [](auto& v) { return apply1(ops::cross_entropy, {v[0], v[1]}); },
                    precision),
                {first, second}, precision);
  }
}

TEST(EvaluateComposite, LayerNorm) {
  const Literal x = f32({2, 4}, {1, 2, 3, 6, -1, -1, -1, -1});
  // Row 0: mean 3, variance (4 + 1 + 0 + 9) / 4.
  const double scale = 1 / std::sqrt(3.5 + 1e-5);
  for (Precision precision : kBoth) {
    expect_near(run(
                    {x}, [](auto& v) { return apply1(ops::layer_norm, {v[0]}); }, precision),
                {-2 * scale, -scale, 0, 3 * scale, 0, 0, 0, 0}, precision);
  }
}

Literal uniform_of(int64_t key, int64_t count, Precision precision = Precision::f32) {
  return run(
      {Literal::of(key)},
      [&](auto& v) { return apply1(ops::uniform, {v[0]}, {{"shape", Ints{count}}}); }, precision);
}

std::vector<double> philox_words(int64_t key, int64_t count) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(i);
  return numbers(run({Literal::of(key), i64(indices)},
                     [](auto& v) { return apply1(ops::philox, {v[0], v[1]}); }));
}

TEST(EvaluateComposite, UniformIsTheUpper24BitsInEitherPrecision) {
  // Word 2 of this key is 0xffffffa1: rounding it to f32 would give 2^32, and a "uniform" of 1.
  constexpr int64_t key = 2871038;
  const std::vector<double> words = philox_words(key, 64);
  EXPECT_EQ(words[2], double(0xffffffa1));
  for (Precision precision : kBoth) {
    const Literal found = uniform_of(key, 64, precision);
    for (size_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(found.element(int64_t(i)), std::floor(words[i] / 256) / 16777216) << i;
      EXPECT_LT(found.element(int64_t(i)), 1);
    }
  }
}

TEST(EvaluateComposite, DropoutKeepsWhereUniformIsBelowKeep) {
  constexpr int64_t count = 40;
  std::vector<double> x, wanted;
  const std::vector<double> u = numbers(uniform_of(42, count));
  for (int64_t i = 0; i < count; ++i) {
    x.push_back(double(i + 1));
    wanted.push_back(u[size_t(i)] < 0.25 ? 4 * double(i + 1) : 0);
  }
  const Literal found = run({f32({5, 8}, x), Literal::of(int64_t{42})}, [](auto& v) {
    return apply1(ops::dropout, {v[0], v[1]}, {{"keep", 0.25}});
  });
  EXPECT_TRUE(is(found, f32({5, 8}, wanted)));
  const auto kept = std::count_if(wanted.begin(), wanted.end(), [](double v) { return v != 0; });
  EXPECT_GT(kept, 3);
  EXPECT_LT(kept, 20);
}

TEST(EvaluateComposite, NormalIsBoxAndMullersTransform) {
  constexpr int64_t count = 4000;
  const std::vector<double> words = philox_words(7, 2 * count);
  for (Precision precision : kBoth) {
    const Literal found = run(
        {Literal::of(int64_t{7})},
        [](auto& v) { return apply1(ops::normal, {v[0]}, {{"shape", Ints{count}}}); }, precision);
    double mean = 0, square = 0;
    for (size_t i = 0; i < size_t(count); ++i) {
      const double u = (words[2 * i] + 1) * 0x1p-32, angle = words[2 * i + 1] * 0x1p-32 * 2 * M_PI;
      const double z = found.element(int64_t(i));
      EXPECT_NEAR(z, std::sqrt(-2 * std::log(u)) * std::cos(angle), 4e-6) << i;
      mean += z / count;
      square += z * z / count;
    }
    EXPECT_NEAR(mean, 0, 0.05);
    EXPECT_NEAR(square, 1, 0.07);
  }
}

TEST(EvaluateComposite, ErrorsInBodiesAreAtTheUsersLine) {
  const Where line{"model.cpp", 12};
  try {
    run({f32({2}, {1, 2})},
        [&](auto& v) { return apply1(ops::softmax, {v[0]}, {{"axis", int64_t{0}}}, line); });
    ADD_FAILURE() << "an unknown attribute was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.where().line, 12) << error.what();
  }
}

}  // namespace
}  // namespace graphc::core

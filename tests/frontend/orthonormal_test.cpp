// SPDX-License-Identifier: Apache-2.0
// Orthogonal initial values: that they are orthonormal and evenly distributed, that threads change
// no bit, how they go into larger initialisers; and that a session says which values took long.
#include "frontend/orthonormal.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "frontend/graphc.h"
#include "frontend/initializers.h"
#include "ir/build.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

/// The largest error of the products of the rows or columns, whichever are fewer, where they are
/// orthogonal and of length `gain`.
double worst_product(const Literal& matrix, double gain) {
  const Shape& shape = matrix.shape();
  const std::span<const float> x = matrix.data<float>();
  const bool wide = shape[1] > shape[0];
  const int64_t few = std::min(shape[0], shape[1]), many = std::max(shape[0], shape[1]);
  const auto element = [&](int64_t vector, int64_t place) {
    return double(x[size_t(wide ? vector * many + place : place * few + vector)]);
  };
  double worst = 0;
  for (int64_t a = 0; a < few; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      double product = 0;
      for (int64_t place = 0; place < many; ++place)
        product += element(a, place) * element(b, place);
      worst = std::max(worst, std::abs(product - (a == b ? gain * gain : 0)));
    }
  }
  return worst;
}

TEST(Orthonormal, RowsOrColumnsWhicheverAreFewer) {
  // About whole and broken panels, tiles and blocks.
  for (const int64_t few : {1, 2, 3, 15, 16, 17, 33, 50, 67}) {
    for (const int64_t more : {0, 1, 2, 5, 300}) {
      for (const Shape& shape : {Shape{few, few + more}, Shape{few + more, few}}) {
        EXPECT_LT(worst_product(orthonormal_matrix(few, shape, 1, 1), 1), 1.2e-7)
            << to_string(shape);
        EXPECT_LT(worst_product(orthonormal_matrix(few, shape, 3, 1), 3), 9 * 1.2e-7)
            << to_string(shape);
      }
    }
  }
  EXPECT_EQ(orthonormal_matrix(1, {0, 5}, 1, 1).elements(), 0);
  EXPECT_EQ(orthonormal_matrix(1, {5, 0}, 1, 1).elements(), 0);
}

TEST(Orthonormal, TheThreadsChangeNoBit) {
  for (const Shape& shape : {Shape{90, 501}, Shape{501, 90}, Shape{3, 5}}) {
    const Literal alone = orthonormal_matrix(5, shape, 1.5, 1);
    for (const int threads : {2, 3, 7})
      EXPECT_EQ(orthonormal_matrix(5, shape, 1.5, threads), alone) << to_string(shape) << threads;
  }
}

TEST(Orthonormal, EveryDirectionIsEquallyLikely) {
  // Under Haar's measure the trace has the moments of a normal number: 0, 1, 0, 3 (Diaconis and
  // Shahshahani, "On the eigenvalues of random matrices", 1994). A factor whose signs follow from
  // the way it is found, as LAPACK's do, has another mean.
  constexpr int kMatrices = 20000;
  for (const int64_t n : {4, 7}) {
    double moments[4] = {};
    for (int key = 0; key < kMatrices; ++key) {
      const Literal q = orthonormal_matrix(key, {n, n}, 1, 1);
      double trace = 0, power = 1;
      for (int64_t i = 0; i < n; ++i) trace += q.element(i * n + i);
      for (double& moment : moments) moment += (power *= trace) / kMatrices;
    }
    // Five deviations of the mean of so many numbers: that of the fourth power of one is about 10.
    EXPECT_NEAR(moments[0], 0, 5 * 1.0 / std::sqrt(kMatrices)) << n;
    EXPECT_NEAR(moments[1], 1, 5 * 1.5 / std::sqrt(kMatrices)) << n;
    EXPECT_NEAR(moments[2], 0, 5 * 3.9 / std::sqrt(kMatrices)) << n;
    EXPECT_NEAR(moments[3], 3, 5 * 9.8 / std::sqrt(kMatrices)) << n;
  }
}

TEST(Orthonormal, OneNumberIsEitherSign) {
  int positive = 0;
  for (int key = 0; key < 1000; ++key) {
    const double x = orthonormal_matrix(key, {1, 1}, 2, 1).element(0);
    EXPECT_EQ(std::abs(x), 2);
    positive += x > 0;
  }
  EXPECT_NEAR(positive, 500, 80);
}

TEST(Orthogonal, IsPartOfLargerInitialisers) {
  const Initializer two = parts({orthogonal(), orthogonal(2)});
  const Literal both = initial_value(two, {DType::f32, {6, 12}}, 3, {});
  Literal halves[2] = {Literal({DType::f32, {6, 6}}), Literal({DType::f32, {6, 6}})};
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 12; ++j)
      halves[j / 6].mutable_data<float>()[size_t(i * 6 + j % 6)] = float(both.element(i * 12 + j));
  }
  EXPECT_LT(worst_product(halves[0], 1), 1.2e-7);
  EXPECT_LT(worst_product(halves[1], 2), 4 * 1.2e-7);
  // Each half has a key of its own.
  EXPECT_GT(std::abs(halves[1].element(0) - 2 * halves[0].element(0)), 1e-3);

  const Initializer shifted = [](Value key, const Type& type) {
    return orthogonal()(fold_in(key, 4), type) * 3 + 1;
  };
  const Literal value = initial_value(shifted, {DType::f32, {4, 9}}, 3, {});
  const auto key_of_four = [](Value key, const Type& type) {
    return orthogonal()(fold_in(key, 4), type);
  };
  const Literal alone = initial_value(key_of_four, {DType::f32, {4, 9}}, 3, {});
  for (int64_t i = 0; i < 36; ++i)
    EXPECT_FLOAT_EQ(float(value.element(i)), float(alone.element(i)) * 3 + 1);
}

TEST(Orthogonal, IsNoValueOfAnotherGraph) {
  Model model("m");
  model.graph("f", [&](Inputs& in) {
    return orthogonal()(cast(in("key", i64, {}), DType::i64), {DType::f32, {3, 3}});
  });
  Session session(model, {.target = "reference"});
  EXPECT_THAT(error_of(ErrorKind::input, [&] { (void)session("f", Literal::of(int64_t{1})); }),
              HasSubstr("orthogonal: it draws the first value of a state"));
}

TEST(OrthogonalCpu, EveryTargetAndNumberOfThreadsHasTheSameBits) {
  Model model("m");
  Param w = model.param("w", {90, 501}, orthogonal());
  const Literal wanted =
      initial_value(orthogonal(), {DType::f32, {90, 501}}, initial_key(4, "w"), {});
  for (const char* target : {"reference", "cpu"}) {
    for (const int threads : {1, 2}) {
      SessionOptions options{.target = target, .seed = 4};
      options.compile.threads = threads;
      Session session(model, options);
      EXPECT_EQ(session.state("w"), wanted) << target << threads;
    }
  }
}

TEST(Session, SaysWhichFirstValueTookLong) {
  Model model("m");
  Param quick = model.param("quick", {2, 3}, normal(1));
  Param slow = model.param("slow", {2, 3}, [](Value key, const Type& type) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1001));
    return normal(key, type.shape);
  });
  std::vector<std::string> lines;
  Session session(model, {.target = "reference",
                          .announce = [&](const std::string& line) { lines.push_back(line); }});
  (void)session.state("quick");
  EXPECT_THAT(lines, ElementsAre());
  (void)session.state("slow");
  EXPECT_THAT(
      lines,
      ElementsAre(MatchesRegex("slow: the first value of f32\\[2,3\\] took [0-9.]+ s to draw")));
}

}  // namespace
}  // namespace graphc::core

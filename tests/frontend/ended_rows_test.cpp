// SPDX-License-Identifier: Apache-2.0
// Rows of different lengths in random cells that are singular at 0, at 1 and where a row has ended:
// values and gradients are those of each row alone, whatever stands in the padding.
#include "frontend/ended_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

constexpr int64_t kRowSteps = 5, kRowWidth = 3;
const std::vector<int64_t> kRowLengths = {5, 3, 1, 0, 4};

/// A cell made of parts drawn by a seed. Inputs are in [0.3, 1.3] and so differ in every element,
/// as do weights: no part is singular in any step that a row has.
class SingularCell {
 public:
  SingularCell(Model& m, uint64_t seed)
      : random_(seed),
        w_(m.param("w", {kRowWidth, kRowWidth}, glorot_uniform())),
        u_(m.param("u", {kRowWidth, kRowWidth}, glorot_uniform())),
        gain_(m.param("gain", {kRowWidth}, constant(0.9))) {
    for (int& part : parts_) part = std::uniform_int_distribution<int>(0, 8)(random_);
    reverse_ = random_() % 2 == 1;
    zeros_ = random_() % 2 == 1;
    if (zeros_ && parts_[1] == 3) parts_[1] = 0;  // of elements that are alike
  }

  bool reverse() const { return reverse_; }

  /// The states at the end and what each step gives.
  Values operator()(Value x, Value h0, Value left, ScanOptions options) {
    options.reverse = reverse_;
    const int64_t batch = x.shape()[1];
    State h(zeros_ ? filled(h0.shape(), 0.5) : h0, "h"), steps_left(left, "left");
    State mean(filled({batch}, 0), "mean");
    const Value y = scan(
        x,
        [&](Value x_t) {
          steps_left -= 1;
          Value z = part(parts_[0], x_t, steps_left) * gain_;
          z = matmul(z, w_) + matmul(part(parts_[1], h, steps_left), u_);
          h = 0.5 + 0.2 * sigmoid(z) + 0.05 * part(parts_[2], x_t * h, steps_left);
          mean = 0.5 * mean + sum(h, {1});
          return h * log(h) + reshape(mean, {batch, 1});
        },
        options);
    return {y, h, mean};
  }

 private:
  /// A function of rows that is singular where they are 0, where they are alike, where they are 1,
  /// or where no step is left.
  Value part(int kind, Value x, Value left) const {
    switch (kind) {
      case 0:
        return x / sqrt(sum(square(x), {1}, true));
      case 1:
        return log(x);
      case 2:
        return sqrt(x);
      case 3:
        return layer_norm(x, 0);
      case 4:
        return reciprocal(x);
      case 5:
        return pow(x, 0.3);
      case 6:
        return x * rsqrt(left + 1);  // infinite where the steps of a row are over
      case 7:
        return log1p(-0.5 * x) / abs(x);
      default:
        return tanh(x);
    }
  }

  std::mt19937_64 random_;
  int parts_[3];
  bool reverse_ = false, zeros_ = false;
  Param w_, u_, gain_;
};

/// A number in [0.3, 1.3] that depends on its place alone.
float drawn(uint64_t seed, int64_t row, int64_t step, int64_t column) {
  std::mt19937 random(uint32_t(seed * 1000003 + uint64_t(row * 1009 + step * 31 + column)));
  return 0.3f + float(random() % 4096) / 4096;
}

/// Adds the graph of the cell with lengths or without: gradients by x and h0, what each step gives,
/// the states at the end, and the gradients of the parameters.
void add_singular_graph(Model& m, SingularCell& cell, const std::string& name, bool lengths) {
  m.graph(name, Mode::training, [&, lengths](Inputs& in) {
    const Value x = in("x", f32, {"steps", "batch", kRowWidth});
    const Value h0 = in("h0", f32, {"batch", kRowWidth}), left = in("left", f32, {"batch", 1});
    const Value n = lengths ? in("n", i32, {"batch"}) : Value();
    const Values found = cell(x, h0, left, {.lengths = n});
    const Value loss = sum(square(found[0])) + sum(square(found[1]) * found[1]) + sum(found[2]);
    Values results = gradients(loss, {x, h0});
    results.insert(results.end(), found.begin(), found.end());
    for (const Value d : gradients(loss, m.params())) results.push_back(d);
    return Results(results);
  });
}

/// x [steps, rows, width] of rows `first` to `last`, with padding behind the end of each.
Data drawn_rows(uint64_t seed, int64_t steps, int64_t first, int64_t last, float padding) {
  std::vector<float> x;
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t row = first; row <= last; ++row) {
      for (int64_t k = 0; k < kRowWidth; ++k)
        x.push_back(t < kRowLengths[size_t(row)] ? drawn(seed, row, t, k) : padding);
    }
  }
  return Data(x, {steps, last - first + 1, kRowWidth});
}

/// The initial states of these rows, and how many steps each has.
std::pair<Data, Data> drawn_states(uint64_t seed, int64_t first, int64_t last) {
  std::vector<float> h0, left;
  for (int64_t row = first; row <= last; ++row) {
    left.push_back(float(kRowLengths[size_t(row)]));
    for (int64_t k = 0; k < kRowWidth; ++k) h0.push_back(drawn(seed + 1, row, 0, k));
  }
  const int64_t rows = last - first + 1;
  return {Data(h0, {rows, kRowWidth}), Data(left, {rows, 1})};
}

void expect_near(const Literal& found, int64_t at, double wanted, const std::string& what) {
  ASSERT_TRUE(std::isfinite(wanted)) << "a row alone is singular: " << what;
  ASSERT_NEAR(found.element(at), wanted, 5e-4 * (1 + std::abs(wanted))) << what;
}

class SingularRows : public ::testing::TestWithParam<int> {};

TEST_P(SingularRows, HaveTheValuesAndGradientsOfEachRowAlone) {
  const uint64_t seed = uint64_t(GetParam());
  const float padding = seed % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 0;
  const int64_t batch = int64_t(kRowLengths.size());
  Model m("m");
  SingularCell cell(m, seed);
  add_singular_graph(m, cell, "rows", true);
  add_singular_graph(m, cell, "alone", false);
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target, .seed = seed});
    const auto [h0, left] = drawn_states(seed, 0, batch - 1);
    const Outputs together =
        session("rows", drawn_rows(seed, kRowSteps, 0, batch - 1, padding), h0, left,
                std::vector<int32_t>(kRowLengths.begin(), kRowLengths.end()));
    std::vector<std::vector<double>> by_parameter(m.params().size());
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t steps = kRowLengths[size_t(row)];
      if (steps == 0) continue;
      const std::string what = fmt::format("{} seed {} row {}", target, seed, row);
      const auto [own, own_left] = drawn_states(seed, row, row);
      const Outputs alone = session("alone", drawn_rows(seed, steps, row, row, 0), own, own_left);
      for (int64_t i = 0; i < steps * kRowWidth; ++i) {
        const int64_t at = (i / kRowWidth * batch + row) * kRowWidth + i % kRowWidth;
        for (const int64_t result : {0, 2})  // by x, and what each step gives
          expect_near(together[result].literal(), at, alone[result].literal().element(i), what);
      }
      for (int64_t k = 0; k < kRowWidth; ++k) {
        for (const int64_t result : {1, 3})  // by h0, and h at the end
          expect_near(together[result].literal(), row * kRowWidth + k,
                      alone[result].literal().element(k), what);
      }
      for (size_t p = 0; p < by_parameter.size(); ++p) {
        const std::vector<double> own_part = alone[int64_t(5 + p)].literal().to_vector<double>();
        by_parameter[p].resize(own_part.size());
        for (size_t i = 0; i < own_part.size(); ++i) by_parameter[p][i] += own_part[i];
      }
    }
    for (size_t p = 0; p < by_parameter.size(); ++p) {
      for (size_t i = 0; i < by_parameter[p].size(); ++i)
        expect_near(together[int64_t(5 + p)].literal(), int64_t(i), by_parameter[p][i],
                    fmt::format("{} seed {} parameter {}", target, seed, p));
    }
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SingularRows, ::testing::Range(1, 11));

/// The gradient by w of a cell that divides by its input, where rows have these lengths.
double by_divided(const std::vector<int32_t>& lengths, bool one_for_all, bool reverse) {
  Model m("m");
  const Param w = m.param("w", {2, 2}, constant(0.5));
  m.graph("f", Mode::training, [&](Inputs& in) {
    const Value x = in("x", f32, {3, 2, 2});
    const Value n = one_for_all ? in("n", i32, {}) : in("n", i32, {2});
    State h(filled({2, 2}, 0));
    scan(x, [&](Value t) { h = tanh(matmul(t / sqrt(sum(square(t), {1}, true)), w) + h); },
         {.reverse = reverse, .lengths = n});
    return Results(sum(gradients(sum(square(Value(h))), {w})[0]));
  });
  std::vector<float> x;
  for (int i = 0; i < 12; ++i) x.push_back(0.25f * float(i % 5 + 1));
  Session session(m);
  const Data n = one_for_all ? Data(lengths[0]) : Data(lengths);
  return session("f", Data(x, {3, 2, 2}), n).scalar();
}

TEST(SingularRowsOfOneLength, AreLikeRowsOfEqualLengths) {
  for (const bool reverse : {false, true}) {
    for (const int32_t n : {3, 2, 1}) {
      const double one = by_divided({n}, true, reverse);
      EXPECT_TRUE(std::isfinite(one));
      EXPECT_NEAR(one, by_divided({n, n}, false, reverse), 1e-5);
    }
  }
}

TEST(SingularRowsOfOneLength, MayBeScalarsWithScalarStates) {
  Model m("m");
  m.graph("f", [&](Inputs& in) {
    const Value x = in("x", f32, {4}), n = in("n", i64, {});
    State total(filled({}, 0));
    const Value y = scan(x, [&](Value t) { return total += log(t); }, {.lengths = n});
    return Values{total, y};
  });
  for (const char* target : {"reference", "cpu"}) {
    Session session(m, {.target = target});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Outputs found = session("f", std::vector<float>{2, 4, nan, nan}, Literal::of(int64_t{2}));
    EXPECT_NEAR(found[0].literal().element(0), std::log(8), 1e-6);
    EXPECT_EQ(found[1].literal().element(3), 0);
  }
}

}  // namespace
}  // namespace graphc::core

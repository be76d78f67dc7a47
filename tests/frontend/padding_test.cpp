// SPDX-License-Identifier: Apache-2.0
// What a mask, a length or a label says does not count, does not: losses and gradients have the
// same bits whatever stands there, NaN and infinities too.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "frontend/graphc.h"

namespace graphc::core {
namespace {

constexpr int64_t kPaddedSteps = 5, kPaddedRows = 3, kPaddedClasses = 4;
const std::vector<int> kRowLengths{2, 5, 0};
constexpr int kIgnoredLabel = 9;

/// A loss of x [steps, batch, classes] with lengths or labels, of which padding has no part.
struct PaddedLoss {
  const char* name;
  std::function<Value(Value x, Value labels, Value lengths, Model& m)> loss;
};

const std::vector<PaddedLoss>& padded_losses() {
  static const std::vector<PaddedLoss> all{
      {"ignored labels",
       [](Value x, Value labels, Value, Model&) {
         return sum(cross_entropy(x, labels, {.ignore = kIgnoredLabel}));
       }},
      {"ignored labels of i64",
       [](Value x, Value labels, Value, Model&) {
         return sum(cross_entropy(x, cast(labels, i64), {.ignore = kIgnoredLabel}));
       }},
      {"ignored labels of u8",
       [](Value x, Value labels, Value, Model&) {
         return sum(cross_entropy(x, cast(labels, DType::u8), {.ignore = kIgnoredLabel}));
       }},
      {"ignored labels of rows",
       [](Value x, Value labels, Value, Model&) {
         return sum(cross_entropy(reshape(x, {-1, kPaddedClasses}), reshape(labels, {-1}),
                                  {.ignore = kIgnoredLabel}));
       }},
      {"ignored labels, weighted",
       [](Value x, Value labels, Value, Model&) {
         const Value known = cast(not_equal(labels, kIgnoredLabel), f32);
         return sum(cross_entropy(x, labels, {.ignore = kIgnoredLabel}) * 3) / sum(known);
       }},
      {"masked steps",
       [](Value x, Value, Value lengths, Model&) { return sum(square(mask_steps(x, lengths))); }},
      {"a mean over steps",
       [](Value x, Value, Value lengths, Model&) { return square(mean_over_steps(x, lengths)); }},
      {"a mean over steps of squares that were masked",
       [](Value x, Value, Value lengths, Model&) {
         return mean_over_steps(square(mask_steps(x, lengths)), lengths);
       }},
      {"a mean over steps of what was masked",
       [](Value x, Value labels, Value lengths, Model&) {
         const Value known = select(equal(labels, kIgnoredLabel), 0, labels);
         return mean_over_steps(cross_entropy(mask_steps(x, lengths), known), lengths);
       }},
      {"a loop",
       [](Value x, Value, Value lengths, Model&) {
         State h(filled({kPaddedRows, kPaddedClasses}, 0));
         const Value y = scan(x,
                              [&](Value step) {
                                h = tanh(h + step) * rsqrt(1 + square(step));
                                return h;
                              },
                              {.lengths = lengths});
         return sum(square(y)) + sum(h);
       }},
      {"a layer",
       [](Value x, Value labels, Value lengths, Model& m) {
         const Value y = Bidirectional<Lstm>(m, "l", kPaddedClasses, kPaddedClasses / 2)(
             x, {.lengths = lengths});
         return sum(cross_entropy(y, labels, {.ignore = kIgnoredLabel}));
       }},
  };
  return all;
}

/// Loss and gradient by x where the padding is all one number.
std::vector<float> with_padding(const PaddedLoss& what, float padding, const char* target) {
  Model m("m");
  m.graph("g", [&](Inputs& in) {
    const Value x = in("x", f32, {kPaddedSteps, kPaddedRows, kPaddedClasses});
    const Value loss = what.loss(x, in("labels", i32, {kPaddedSteps, kPaddedRows}),
                                 in("n", i32, {kPaddedRows}), m);
    return Results{{"loss", loss}, {"gradient", gradients(loss, {x})[0]}};
  });
  std::mt19937 random(7);
  std::vector<float> x(size_t(kPaddedSteps * kPaddedRows * kPaddedClasses));
  std::vector<int> labels(size_t(kPaddedSteps * kPaddedRows));
  for (float& element : x) element = std::uniform_real_distribution<float>(-2, 2)(random);
  for (int64_t row = 0; row < kPaddedSteps * kPaddedRows; ++row) {
    labels[size_t(row)] = int(random() % kPaddedClasses);
    if (row / kPaddedRows < kRowLengths[size_t(row % kPaddedRows)]) continue;
    labels[size_t(row)] = kIgnoredLabel;
    std::fill_n(x.begin() + row * kPaddedClasses, kPaddedClasses, padding);
  }
  Session session(m, {.target = target, .announce = [](const std::string&) {}});
  const Outputs found = session("g", Data(x, {kPaddedSteps, kPaddedRows, kPaddedClasses}),
                                Data(labels, {kPaddedSteps, kPaddedRows}), kRowLengths);
  std::vector<float> all = found["gradient"].to_vector();
  for (int64_t row = 0; row < kPaddedSteps * kPaddedRows; ++row) {
    if (row / kPaddedRows < kRowLengths[size_t(row % kPaddedRows)]) continue;
    for (int64_t i = 0; i < kPaddedClasses; ++i)
      EXPECT_EQ(all[size_t(row * kPaddedClasses + i)], 0) << what.name << " with " << padding;
  }
  all.push_back(float(found["loss"].scalar()));
  for (float& element : all) element += 0.0f;  // -0 is 0
  return all;
}

void expect_no_influence(const char* target) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const PaddedLoss& what : padded_losses()) {
    const std::vector<float> wanted = with_padding(what, 0, target);
    EXPECT_TRUE(std::ranges::any_of(wanted, [](float x) { return x != 0; })) << what.name;
    for (const float padding : {std::nanf(""), infinity, -infinity, 3e38f, -1e-45f})
      EXPECT_EQ(with_padding(what, padding, target), wanted) << what.name << " with " << padding;
  }
}

TEST(Padding, HasNoPartInALossOrAGradient) { expect_no_influence("reference"); }

TEST(PaddingCpu, HasNoPartInALossOrAGradient) { expect_no_influence("cpu"); }

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Lengths, indices and labels of every type of integers, with sizes around the limits of the types:
// what graphc counts for itself never begins again.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "frontend/graphc.h"
#include "tests/testing/expect_error.h"

namespace graphc::core {
namespace {

using testing::error_of;

const std::vector<DType> kCountTypes = {DType::i32, DType::i64, DType::u32, DType::u8};
const std::vector<const char*> kCountTargets = {"reference", "cpu"};

/// The numbers among `wanted` that the type has.
std::vector<int64_t> held_by(DType dtype, std::vector<int64_t> wanted) {
  std::erase_if(wanted, [&](int64_t n) { return !holds(dtype, n); });
  return wanted;
}

Data of_type(DType dtype, const std::vector<int64_t>& numbers) {
  return Literal(std::span<const int64_t>(numbers), {int64_t(numbers.size())}).converted(dtype);
}

int64_t counted(int64_t length, int64_t steps) { return std::clamp<int64_t>(length, 0, steps); }

/// Lengths below, at and beyond a number of steps, and the limits of their type.
std::vector<int64_t> lengths_for(DType dtype, int64_t steps) {
  return held_by(dtype, {0, 1, 127, 128, 255, 256, steps - 1, steps, steps + 1, -1, -128, 300,
                         int64_t{1} << 31, (int64_t{1} << 32) - 1, INT32_MIN, INT32_MAX, INT64_MIN,
                         INT64_MAX});
}

TEST(NarrowCounts, MasksAndMeansCountAllSteps) {
  for (const DType dtype : kCountTypes) {
    for (const int64_t steps : {1, 127, 128, 129, 255, 256, 257, 300, 65535, 65537}) {
      const std::vector<int64_t> lengths = lengths_for(dtype, steps);
      const int64_t rows = int64_t(lengths.size());
      Model m("m");
      m.graph("f", [&](Inputs& in) {
        // Not the input itself, whose lengths the session would refuse.
        const Value n = in("n", dtype, {rows}) * 1;
        const Value ones = filled({steps, rows}, 1), ramp = iota({steps, rows}, 0, f32);
        const Value valid = cast(valid_steps(n, steps), i32);
        return Values{sum(valid, 0), sum(mask_steps(ones, n), 0), mean_over_steps(ramp, n)};
      });
      int64_t all = 0;
      double total = 0;
      for (const int64_t length : lengths) {
        const int64_t own = counted(length, steps);
        all += own;
        total += 0.5 * double(own) * double(own - 1);
      }
      for (const char* target : kCountTargets) {
        if (steps > 300 && target == kCountTargets[0] && dtype != DType::u8) continue;
        Session session(m, {.target = target});
        const Outputs found = session("f", of_type(dtype, lengths));
        const std::string what = fmt::format("{} {} {}", target, name_of(dtype), steps);
        for (int64_t row = 0; row < rows; ++row) {
          const double wanted = double(counted(lengths[size_t(row)], steps));
          EXPECT_EQ(found[0].literal().element(row), wanted) << what;
          EXPECT_EQ(found[1].literal().element(row), wanted) << what;
        }
        const double mean = total / double(std::max<int64_t>(1, all));
        EXPECT_NEAR(found[2].literal().element(0), mean, 1e-3 * mean) << what;
      }
    }
  }
}

TEST(NarrowCounts, LoopsGoAsManyStepsAsRowsHave) {
  for (const DType dtype : kCountTypes) {
    for (const int64_t steps : {127, 129, 255, 256, 257, 300}) {
      for (const bool reverse : {false, true}) {
        const std::vector<int64_t> lengths = lengths_for(dtype, steps);
        const int64_t rows = int64_t(lengths.size());
        Model m("m");
        m.graph("f", [&](Inputs& in) {
          const Value n = in("n", dtype, {rows}) * 1;
          const Value ramp = iota({steps, rows}, 0, f32);
          State count(filled({rows}, 0, i32)), last(filled({rows}, -1)), narrow(n);
          const Value y = scan(ramp,
                               [&](Value step) {
                                 count += 1;
                                 last = step;
                                 narrow = n;
                                 return step + 1;
                               },
                               {.reverse = reverse, .lengths = n});
          return Values{count, last, sum(y, 0), narrow};
        });
        for (const char* target : kCountTargets) {
          Session session(m, {.target = target});
          const Outputs found = session("f", of_type(dtype, lengths));
          for (int64_t row = 0; row < rows; ++row) {
            const int64_t own = counted(lengths[size_t(row)], steps);
            const std::string what = fmt::format("{} {} steps {} length {} reverse {}", target,
                                                 name_of(dtype), steps, own, reverse);
            EXPECT_EQ(found[0].literal().element(row), double(own)) << what;
            const int64_t last = own == 0 ? -1 : reverse ? 0 : own - 1;
            EXPECT_EQ(found[1].literal().element(row), double(last)) << what;
            EXPECT_EQ(found[2].literal().element(row), double(own * (own + 1) / 2)) << what;
          }
        }
      }
    }
  }
}

TEST(NarrowCounts, LengthsOfEveryTypeAreCheckedByTheSession) {
  for (const DType dtype : kCountTypes) {
    for (const int64_t steps : {100, 127, 254}) {
      Model m("m");
      m.graph("f", [&](Inputs& in) {
        const Value x = in("x", f32, {steps, 1}), n = in("n", dtype, {1});
        State sum(filled({1}, 0));
        scan(x, [&](Value t) { sum += t; }, {.lengths = n});
        return Results(sum);
      });
      Session session(m);
      const Data x(std::vector<float>(size_t(steps), 1), {steps, 1});
      for (const int64_t length :
           held_by(dtype, {steps + 1, 255, -1, INT32_MIN, INT64_MAX, (int64_t{1} << 53) + 1})) {
        EXPECT_EQ(error_of(ErrorKind::input, [&] { session("f", x, of_type(dtype, {length})); }),
                  fmt::format("lengths 'n': row 0 has {} steps: wanted 0 to {}", length, steps));
      }
      EXPECT_EQ(session("f", x, of_type(dtype, {steps})).scalar(), double(steps));
    }
  }
}

TEST(NarrowCounts, AnIotaMustHaveItsLastIndex) {
  for (const DType dtype : kCountTypes) {
    for (const int64_t extent :
         {int64_t{1}, int64_t{128}, int64_t{255}, int64_t{256}, int64_t{257}, int64_t{65536},
          int64_t{1} << 31, (int64_t{1} << 31) + 1, int64_t{1} << 32, (int64_t{1} << 32) + 1}) {
      Model m("m");
      m.graph("f", [&](Inputs&) { return Results(iota({extent}, 0, dtype)); });
      m.graph("both", [&](Inputs&) { return Results(iota({extent, 2}, 0, dtype)); });
      for (const char* graph : {"f", "both"}) {
        if (holds(dtype, extent - 1)) {
          EXPECT_NO_THROW(m.trace(graph, Extents{}));
        } else {
          EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace(graph, Extents{}); }),
                    fmt::format("iota: counts to {}: that is not a number of {}", extent - 1,
                                name_of(dtype)));
        }
      }
    }
  }
}

TEST(NarrowCounts, IndicesAndLabelsOfEveryTypeReachEveryRow) {
  constexpr int64_t kRows = 300;
  for (const DType dtype : kCountTypes) {
    const std::vector<int64_t> indices = held_by(dtype, {0, 1, 127, 128, 200, 254, 255, 256, 299});
    const int64_t count = int64_t(indices.size());
    Model m("m");
    m.graph("f", Mode::training, [&](Inputs& in) {
      const Value n = in("n", dtype, {count});
      const Value table = iota({kRows, 1}, 0, f32), rows = filled({count, 1}, 1);
      const Value logits = in("logits", f32, {count, kRows});
      const Value rest = concat({n, filled({256 - count}, 7, dtype)}, 0);  // more than u8 counts
      const Value many = cross_entropy(filled({256, kRows}, 0) + sum(logits) * 0, rest);
      const Value loss = cross_entropy(logits, n);
      return Values{gather(table, n),
                    scatter_add(table * 0, n, rows),
                    scatter(table * 0, n, rows),
                    cast(one_hot(n, kRows), f32),
                    loss,
                    gradients(sum(loss), {logits})[0],
                    argmax(cast(one_hot(n, kRows), dtype), 1),
                    many,
                    cast(merge_rows(n, rows).first, i64)};
    });
    std::vector<float> logits;
    for (int64_t i = 0; i < count * kRows; ++i) logits.push_back(float(i * 7919 % 1000) / 1000);
    std::vector<std::vector<Literal>> all;
    for (const char* target : kCountTargets) {
      Session session(m, {.target = target});
      const Outputs found = session("f", of_type(dtype, indices), Data(logits, {count, kRows}));
      for (int64_t i = 0; i < count; ++i) {
        const int64_t index = indices[size_t(i)];
        const std::string what = fmt::format("{} {} index {}", target, name_of(dtype), index);
        EXPECT_EQ(found[0].literal().element(i), double(index)) << what;
        EXPECT_EQ(found[1].literal().element(index), 1) << what;
        EXPECT_EQ(found[2].literal().element(index), 1) << what;
        EXPECT_EQ(found[3].literal().element(i * kRows + index), 1) << what;
        double total = 0;
        for (int64_t k = 0; k < kRows; ++k) total += std::exp(logits[size_t(i * kRows + k)]);
        EXPECT_NEAR(found[4].literal().element(i),
                    std::log(total) - logits[size_t(i * kRows + index)], 1e-4)
            << what;
        EXPECT_LT(found[5].literal().element(i * kRows + index), 0) << what;
        EXPECT_EQ(found[6].literal().element(i), double(index)) << what;
        EXPECT_EQ(found[8].literal().element(i), double(index)) << what;
      }
      EXPECT_NEAR(found[7].literal().element(255), std::log(300.0), 1e-4);
    }
  }
}

TEST(NarrowCounts, AnIgnoredLabelIsOneOfItsType) {
  for (const DType dtype : kCountTypes) {
    for (const int64_t ignored : {int64_t{-100}, int64_t{255}, int64_t{256}, int64_t{1} << 40}) {
      Model m("m");
      m.graph("f", [&](Inputs& in) {
        const Value x = in("x", f32, {2, 3}), y = in("y", dtype, {2});
        return Results(cross_entropy(x, y, {.ignore = ignored}));
      });
      if (!holds(dtype, ignored)) {
        EXPECT_EQ(error_of(ErrorKind::input, [&] { m.trace("f", Extents{}); }),
                  fmt::format("cross_entropy: {{.ignore = {}}} is no label: the labels are {}[2]",
                              ignored, name_of(dtype)));
        continue;
      }
      Session session(m);
      const Outputs found = session("f", Data(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}),
                                    of_type(dtype, {ignored, 1}));
      EXPECT_EQ(found[0].literal().element(0), 0);
      EXPECT_NEAR(found[0].literal().element(1), 1.4076, 1e-4);
    }
  }
}

TEST(NarrowCounts, LayersTakeLengthsOfEveryType) {
  constexpr int64_t kManySteps = 300;
  Model m("m");
  const Bidirectional<Gru> gru(m, "gru", 2, 3);
  for (const DType dtype : kCountTypes) {
    m.graph(std::string(name_of(dtype)), Mode::training, [&, dtype](Inputs& in) {
      const Value x = in("x", f32, {kManySteps, 3, 2}), n = in("n", dtype, {3});
      const Value y = gru(x, {.lengths = n});
      return Values{y, gradients(mean_over_steps(square(y), n), {x})[0]};
    });
  }
  std::vector<float> x;
  for (int64_t i = 0; i < kManySteps * 6; ++i) x.push_back(float(i * 37 % 101) / 101 - 0.5f);
  Session session(m);
  const auto at = [&](DType dtype) {
    return session.run(name_of(dtype),
                       {Data(x, {kManySteps, 3, 2}), of_type(dtype, {200, 40, 255})});
  };
  const Outputs wanted = at(DType::i64);
  for (const DType dtype : kCountTypes) {
    const Outputs found = at(dtype);
    for (const int64_t result : {0, 1})
      EXPECT_TRUE(found[result].literal() == wanted[result].literal()) << name_of(dtype);
  }
}

TEST(NarrowCounts, SchedulesTakeStepsOfEveryType) {
  for (const DType dtype : kCountTypes) {
    Model m("m");
    m.graph("f", [&](Inputs& in) {
      const Value step = in("step", dtype, {});
      return Values{step_decay(step, 0.5, 50, 0.5), cosine_decay(step, 1.0, 1000, 0.0)};
    });
    for (const char* target : kCountTargets) {
      Session session(m, {.target = target});
      const Outputs found = session("f", Literal::of(int64_t{255}).converted(dtype));
      EXPECT_NEAR(found[0].literal().element(0), 0.5 / 32, 1e-6);
      EXPECT_NEAR(found[1].literal().element(0), 0.8480, 1e-3);
    }
  }
}

}  // namespace
}  // namespace graphc::core

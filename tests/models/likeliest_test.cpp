// SPDX-License-Identifier: Apache-2.0
// The likeliest logits stay, those that are equal with them; beside a sort.
#include "models/likeliest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace graphc::core {
namespace {

std::vector<float> kept(const std::vector<float>& logits, int64_t k) {
  if (k == 0) return logits;
  std::vector<float> sorted = logits;
  std::ranges::sort(sorted, std::greater());
  const float bar = sorted[size_t(std::min<int64_t>(k, int64_t(sorted.size())) - 1)];
  std::vector<float> all = logits;
  for (float& logit : all) {
    if (logit < bar) logit = -INFINITY;
  }
  return all;
}

TEST(LikeliestCpu, AreThoseThatASortPutsFirst) {
  Model model("likeliest");
  model.graph("f", [&](Inputs& in) {
    Value logits = in("logits", f32, {1, "n"}), ranks = in("ranks", i32, {"k"});
    return keep_likeliest(logits, ranks);
  });
  std::mt19937 numbers(3);
  for (const char* target : {"reference", "cpu"}) {
    Session session(model, {.target = target, .announce = [](const std::string&) {}});
    for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{5}, int64_t{19}, int64_t{20},
                      int64_t{23}, int64_t{1} << 40}) {
      for (int draw = 0; draw < 6; ++draw) {
        // Of few different numbers, so that many are equal; some are barred from the start.
        std::vector<float> logits(20);
        for (float& logit : logits)
          logit = numbers() % 7 == 0 ? -INFINITY : float(numbers() % (draw + 3)) - 2;
        const Literal given{std::span<const float>(logits), Shape{1, 20}};
        const Literal found = Tensor(session("f", given, ranks_of(k, 20))).literal();
        const std::span<const float> values = found.data<float>();
        EXPECT_EQ(std::vector<float>(values.begin(), values.end()), kept(logits, k))
            << target << " k " << k << " draw " << draw;
      }
    }
  }
}

}  // namespace
}  // namespace graphc::core

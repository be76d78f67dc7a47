// SPDX-License-Identifier: Apache-2.0
// Profiles: what a line computes and what its derivative does.
#include "frontend/profile.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "frontend/graphc.h"
#include "models/random_inputs.h"

namespace graphc::core {
namespace {

using ::testing::HasSubstr;

TEST(ProfileCpu, TellsForwardFromBackwardOfALine) {
  Model model("m");
  const Param w = model.param("w", {40, 30}, uniform(0.5));
  int line = 0;
  const auto loss_of = [&](Inputs& in) {
    const Value x = in("x", f32, {20, 40});
    line = __LINE__ + 1;
    return mean(square(matmul(x, w)));
  };
  model.graph("forward", loss_of);
  model.graph("train", Mode::training, [&](Inputs& in) {
    const Value loss = loss_of(in);
    minimize(loss, {w}, Sgd{0.1});
    return loss;
  });
  Session session(model, {.target = "cpu", .compile = {.threads = 1}});
  const auto products = [&](const char* graph) {
    std::vector<std::string> all;
    const std::vector<KernelTime> times = session.profile(graph, random_uniform({20, 40}, 1));
    for (const KernelTime& time : times) {
      if (time.flop == 0) continue;
      EXPECT_EQ(time.where.line, line) << time.name;
      EXPECT_THAT(text_of(times), HasSubstr(line_of(time)));
      all.push_back(line_of(time).substr(line_of(time).rfind('/') + 1));
    }
    std::ranges::sort(all);
    return all;
  };
  const std::vector<std::string> forward = products("forward");
  EXPECT_EQ(forward, std::vector{fmt::format("profile_test.cpp:{}", line)});
  EXPECT_EQ(products("train"), (std::vector{fmt::format("profile_test.cpp:{}", line),
                                            fmt::format("profile_test.cpp:{} backward", line)}));
}

}  // namespace
}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Fits a line, with nothing but what a user's project has; fails when it does not.
#include <graphc/graphc.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace graphc;

int main() {
  Model model("line");
  const Param slope = model.param("slope", {}, zeros()),
              offset = model.param("offset", {}, zeros());
  model.graph("train", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {"points"}), y = in("y", f32, {"points"});
    Value loss = mse(slope * x + offset, y);
    minimize(loss, model.params(), Sgd{.rate = 0.5});
    return loss;
  });

  std::vector<float> x, y;
  for (int i = 0; i < 8; ++i) {
    x.push_back(float(i) / 8);
    y.push_back(3 * x.back() - 1);
  }
  const auto tensor = [](const std::vector<float>& elements) {
    return Literal(std::span<const float>(elements), {int64_t(elements.size())});
  };
  Session session(model, {.target = "reference"});
  for (int step = 0; step < 400; ++step) session("train", tensor(x), tensor(y));
  const double found = session.state("slope").element(0);
  std::printf("slope %.4f\n", found);
  return std::abs(found - 3) < 0.01 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// 02, gradients: the derivative is one node, which a pass replaces by ordinary ones.
#include "models/tour/neuron.h"
#include "passes/pipeline.h"

using namespace graphc::core;

int main() {
  Model model("tour");
  const Neuron neuron(model);
  model.graph("train", Mode::training, [&](Inputs& in) {
    Value x = in("x", f32, {"batch", 3}), y = in("y", f32, {"batch", 1});
    Value loss = mse(neuron(x), y);
    minimize(loss, model.params(), Sgd{.rate = 0.5});
    return loss;
  });

  // As written: `grad`, and the next values of the parameters.
  const GraphPtr written = model.trace("train", Extents{{"batch", 8}}).graph;
  fmt::print("{}\n", print(*written));

  // After three passes: the same step, without `grad`.
  fmt::print("{}\n", print(*run_pipeline(written, parse_pipeline("autodiff,simplify,cse")).graph));

  // The neuron learns the majority of three signs. Compiled once, run a hundred times.
  std::vector<float> signs, majority;
  for (int row = 0; row < 8; ++row) {
    int votes = 0;
    for (int i = 0; i < 3; ++i) {
      const int sign = (row >> i) % 2 == 0 ? -1 : 1;
      signs.push_back(float(sign));
      votes += sign;
    }
    majority.push_back(votes > 0 ? 1.0f : -1.0f);
  }
  Session session(model);
  for (int step = 0; step <= 100; ++step) {
    const double loss =
        session("train", Literal(signs, {8, 3}), Literal(majority, {8, 1})).scalar();
    if (step == 0 || step == 10 || step == 100) fmt::print("step {:3}  loss {:.3f}\n", step, loss);
  }
}

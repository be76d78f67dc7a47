// SPDX-License-Identifier: Apache-2.0
// 06, adding an op: with one record it infers, runs, differentiates, fuses and compiles.
#include "models/tour/neuron.h"
#include "models/tour/softsign.h"

using namespace graphc::core;

namespace {

/// y and dx at these x, on a target.
void show(Model& model, const char* target, const Literal& x) {
  Session session(model, {.target = target});
  const Outputs out = session("slope", x);
  for (const char* name : {"y", "dx"}) {
    fmt::print("{:10} {:2}", target, name);
    for (const float value : out[name].data<float>()) fmt::print("{:8.4f}", value);
    fmt::print("\n");
  }
}

}  // namespace

int main() {
  Model model("tour");
  const Neuron neuron(model);
  // The neuron of 01, with another nonlinearity.
  model.graph("predict",
              [&](Inputs& in) { return softsign(neuron.sum(in("x", f32, {"batch", 3}))); });
  model.graph("slope", [&](Inputs& in) -> Results {
    Value x = in("x", f32, {"n"}), y = softsign(x);
    return {{"y", y}, {"dx", gradients(sum(y), {x})[0]}};
  });
  fmt::print("{}\n", print(*model.trace("predict", Extents{{"batch", 2}}).graph));

  // The evaluator reads the record; so does the compiler. The slope is 1 / (1 + |x|)^2.
  const std::vector<float> x{-3, -1, 0, 1, 3};
  for (const char* target : {"reference", "cpu"}) show(model, target, Literal(x, {5}));

  // An error is at the line that made it, in the record's own words.
  model.graph("wrong", [&](Inputs& in) { return softsign(in("x", i32, {2})); });
  try {
    model.trace("wrong", Extents{});
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
  }
}

// SPDX-License-Identifier: Apache-2.0
// 01, a graph: equations on values become nodes, and a session compiles and runs them.
#include "models/tour/neuron.h"

using namespace graphc;

int main() {
  Model model("tour");
  const Neuron neuron(model);
  model.graph("predict", [&](Inputs& in) { return neuron(in("x", f32, {"batch", 3})); });

  // Nothing has run yet. For a batch of two, the equation is this graph:
  const TracedGraph traced = model.trace("predict", Extents{{"batch", 2}});
  fmt::print("{}\n", print(*traced.graph));

  // The text is the graph: it can be written by hand, and read back.
  fmt::print("read back it is {}\n",
             equal(*parse_graph(print(*traced.graph)), *traced.graph) ? "the same" : "another");

  // A session owns the parameters. The first call with inputs of new shapes compiles.
  Session session(model);
  const std::vector<float> x{1, -1, 1, 0.5f, 0.25f, -1};
  const Tensor y = session("predict", Literal(x, {2, 3}));
  fmt::print("{:.4f} {:.4f}\n", y.data<float>()[0], y.data<float>()[1]);
}

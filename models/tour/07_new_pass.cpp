// SPDX-License-Identifier: Apache-2.0
// 07, adding a pass: a function from graph to graph, and the test that every pass must pass.
#include "ir/evaluate.h"
#include "models/tour/memory.h"
#include "models/tour/reciprocals.h"
#include "passes/passes.h"

using namespace graphc::core;

int main() {
  // The memory of 03; its output is halved at the end.
  Model model("tour");
  const Memory memory(model);
  model.graph("listen", [&](Inputs& in) {
    State h(filled({1, 1}, 0));
    return memory(in("xs", f32, {"steps", 1, 3}) / 4, h) / 2;
  });
  const GraphPtr before = model.trace("listen", Extents{{"steps", 3}}).graph;
  // simplify removes the constants that are no longer used.
  const GraphPtr after =
      run_pipeline(before, {{&reciprocals, {}}, {&find_pass("simplify"), {}}}).graph;
  fmt::print("{}\n{}\n", print(*before), print(*after));

  // The reference evaluator defines the meaning of a graph: both must have the same.
  const std::vector<float> xs{1, -1, 0.3f, 0.7f, 2, -0.4f, 0.1f, 0, -5};
  const std::map<std::string, Literal> parameters{
      {"w", Literal(std::vector<float>{0.1f, -0.7f, 0.4f}, {3, 1})},
      {"b", Literal(std::vector<float>{0.2f}, {1})},
      {"u", Literal(std::vector<float>{-0.9f}, {1, 1})}};
  const auto meaning = [&](const Graph& graph) {
    return evaluate(graph, {Literal(xs, {3, 1, 3})}, parameters).results[0];
  };
  const Literal wanted = meaning(*before), found = meaning(*after);
  fmt::print("{}\n{}\n", wanted.to_text(),
             found == wanted ? "the same, bit for bit" : "not the same: the pass is wrong");
}

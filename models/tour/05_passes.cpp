// SPDX-License-Identifier: Apache-2.0
// 05, watching the passes: the effect of each on the language model's training step.
#include "models/tour/language_model.h"
#include "passes/pipeline.h"

using namespace graphc::core;

namespace {

struct Counts {
  int nodes = 0, kernels = 0, loops = 0, products_in_loops = 0;
};

/// Counts the nodes of a graph and of the loops in it; a kernel is one node.
void count(const Graph& graph, bool in_loop, Counts& counts) {
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::input) || node.is(ops::state) || node.is(ops::constant)) continue;
    ++counts.nodes;
    counts.kernels += node.is(ops::kernel);
    counts.loops += node.is(ops::scan);
    counts.products_in_loops += in_loop && node.is(ops::matmul);
    if (node.is(ops::scan)) count(node.region(), true, counts);
  }
}

void show(std::string_view pass, const Graph& graph) {
  Counts counts;
  count(graph, false, counts);
  fmt::print("{:14}{:6}{:8}{:9}{:13}\n", pass, counts.nodes, counts.loops, counts.products_in_loops,
             counts.kernels);
}

}  // namespace

int main() {
  Model model("tour");
  const LanguageModel language(model, 27, 64);
  const Params params = model.params();
  model.graph("train", Mode::training, [&](Inputs& in) { return language.train(params, in); });
  const GraphPtr graph = model.trace("train", Extents{{"steps", 119}, {"batch", 1}}).graph;

  // The pipeline is a list, and the runner calls back after each pass. It also verifies the graph,
  // times the pass, and names a pass that broke a graph.
  fmt::print("{:14}{:>6}{:>8}{:>9}{:>13}\n", "after", "nodes", "loops", "products", "kernels");
  fmt::print("{:14}{:>6}{:>8}{:>9}\n", "", "", "", "in loops");
  show("(as written)", *graph);
  PipelineSettings settings;
  settings.after_pass = [](size_t, const PassUse& use, const GraphPtr& before,
                           const GraphPtr& after) {
    if (after != before) show(use.pass->name, *after);
  };
  const GraphPtr optimized = run_pipeline(graph, standard_pipeline("fused"), settings).graph;
  run_pipeline(optimized, kernel_pipeline("fused"), settings);
}

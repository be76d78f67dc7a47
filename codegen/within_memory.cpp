// SPDX-License-Identifier: Apache-2.0
#include "codegen/within_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/composite.h"
#include "ir/op.h"
#include "ir/scan.h"
#include "passes/region.h"
#include "passes/remat.h"

namespace graphc::core {
namespace {

/// All values of the graph, without those in its loops: more than a plan needs, mostly, and never
/// less than half of it. Plans that surely fit are not made twice.
double bytes_of_values(const Graph& kernels) {
  double bytes = 0;
  for (const Node& node : kernels.nodes()) {
    for (const Type& type : node.types) bytes += double(type.bytes());
  }
  return bytes;
}

/// The steps of the longest loop, or recurrent layer.
int64_t most_steps(const Graph& graph) {
  int64_t steps = 0;
  for (const Node& node : graph.nodes()) {
    if (node.is(ops::scan)) steps = std::max(steps, Scan(node).steps());
    if (is_composite(node.op)) steps = std::max(steps, most_steps(*body_of(node)));
  }
  return steps;
}

double megabytes(int64_t bytes) { return double(bytes) / 1e6; }

}  // namespace

bool surely_fits(const Graph& kernels, int64_t bytes) {
  return 2 * bytes_of_values(kernels) <= double(bytes);
}

GraphPtr within_memory(const GraphPtr& graph, GraphPtr kernels, const CompileOptions& options,
                       const StepMemory& memory, CompileReport& report) {
  const int64_t limit = memory.limit;
  if (options.remat != "auto" || !contains(*graph, ops::grad)) return kernels;
  if (surely_fits(*kernels, limit)) return kernels;
  const int64_t every = steps_between_saved(most_steps(*graph));
  const int64_t whole = memory.arena_bytes(*kernels);
  if (whole <= limit || every < 2) return kernels;
  CompileOptions split = options;
  split.remat = std::to_string(every);
  // Chunks of steps keep more than the states of a few steps do.
  if (split.recurrence == "auto") split.recurrence = "steps";
  CompileReport again;
  GraphPtr fewer = form_kernels_for(graph, split, again, memory.traits);
  const int64_t bytes = memory.arena_bytes(*fewer);
  report.remarks.push_back(
      {"memory",
       "",
       {},
       fmt::format("the step needs {:.0f} MB, more than the {:.0f} MB there are: with the states "
                   "of every {} steps saved alone it needs {:.0f} MB{}",
                   megabytes(whole), megabytes(limit), every, megabytes(bytes),
                   bytes < whole ? "" : ": they are all saved"),
       true});
  report.lap(&CompileReport::passes_s);
  return bytes < whole ? fewer : kernels;
}

}  // namespace graphc::core

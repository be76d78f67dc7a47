// SPDX-License-Identifier: Apache-2.0
// Rematerialisation of loops: of a differentiated loop of T steps the carries of every N-th step
// are saved instead of what the derivative needs of every step. The loop becomes one over T / N
// blocks with a loop of N steps inside. autodiff then saves, of a block, the carries that it starts
// from, and puts a second copy of the inner loop into the backward loop (divided_step.h): that one
// saves what the derivative needs, for the N steps of one block at a time. Values and random
// numbers are those of the loop in one piece: the same body computes them from the same operands.
//
// Which loops: those with {save_every = N} (ir/scan.h), and
//
//     steps=N    every differentiated loop of more than N steps, recurrent layers included
//     matrices   loops whose rows carry a matrix, if all their states together exceed what caches
//                hold and no exponential or the like is of every element: their step takes less
//                time than it takes to store its state and to load it
//
// N of `matrices` is the power of two nearest to the square root of T, which saves the fewest
// states: T / N of the blocks and N inside one. Only loops at the top level of the graph.
#include "passes/remat.h"

#include <algorithm>
#include <cmath>

#include "ir/build.h"
#include "ir/composite.h"
#include "ir/scan.h"
#include "passes/composites.h"
#include "passes/cut.h"
#include "passes/kernels/matrix_rows.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/scan_blocks.h"

namespace graphc::core {
namespace {

/// Bytes of states that are not worth computing again: about the second-level caches.
constexpr int64_t kSmall = int64_t{4} << 20;

int64_t carried_bytes(const Scan& scan) {
  int64_t bytes = 0;
  for (Value carry : scan.initial()) bytes += carry.type().bytes();
  return bytes;
}

/// Whether a step takes less time than to store and to load the matrices that its rows carry: it
/// does little more than a few sweeps over them.
bool is_quick_to_repeat(const Scan& scan) {
  const Shape rows = matrix_rows(scan);
  if (rows.rank() == 0) return false;
  return std::ranges::none_of(scan.body().nodes(), [&](const Node& node) {
    // After align-axes a vector may have axes of extent 1.
    const Shape& shape = node.types[0].shape;
    const bool of_matrices = shape.rank() > rows.rank() + 1 && shape[-1] > 1 && shape[-2] > 1;
    return node.is(ops::matmul) || (of_matrices && cost_of_repeating(node) > 0);
  });
}

/// Of which steps the carries are saved: every so many; 0: of all.
int64_t chosen_every(const Scan& scan, const PassOptions& options) {
  if (scan.save_every() > 0) return scan.save_every();
  if (const int64_t steps = options.get_int("steps", 0); steps > 0) return steps;
  const bool is_large = scan.steps() > 1 && carried_bytes(scan) > kSmall / scan.steps();
  return options.get_bool("matrices", false) && is_large && is_quick_to_repeat(scan)
             ? steps_between_saved(scan.steps())
             : 0;
}

/// The loop as one step of a loop over blocks: it keeps its initial carries alone.
StepsDone inner_loop(const Scan& scan, const ScanOperands& operands, int64_t steps, Graph& to) {
  const Node& loop = add_scan(to,
                              {.streams = operands.streams,
                               .initial = operands.initial,
                               .captures = operands.captures,
                               .body = scan.node().regions[0],
                               .steps = steps,
                               .reverse = scan.reverse(),
                               .save_every = steps},
                              scan.node().where);
  StepsDone done;
  const Scan added(loop);
  for (size_t i = 0; i < scan.emits().size(); ++i) done.stacks.push_back(added.emitted(i));
  for (size_t k = 0; k < scan.initial().size(); ++k) done.carries.push_back(added.final(k));
  return done;
}

bool is_recurrent_layer(const Node& node) {
  return is_composite(node.op) && contains(*body_of(node), ops::scan);
}

/// The differentiated layers as loops.
GraphPtr without_layers(const GraphPtr& graph) {
  const std::vector<bool> differentiated = differentiated_nodes(*graph);
  return rewrite(*graph,
                 [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
                   if (!differentiated[size_t(node.id)] || !is_recurrent_layer(node))
                     return std::nullopt;
                   return inline_composite(node, operands, to, is_recurrent_layer);
                 });
}

/// Says where a user's `save_every` has no effect: of a loop inside another one.
void remark_on_inner_loops(const Graph& graph, Remarks& remarks) {
  for (const Node& outer : graph.nodes()) {
    for (const GraphPtr& region : outer.regions) {
      for (const Node& node : region->nodes()) {
        if (!node.is(ops::scan)) continue;
        const Scan scan(node);
        if (scan.save_every() == 0 || scan.save_every() >= scan.steps()) continue;
        remarks.notify(node, fmt::format("save_every = {} has no effect inside another loop: only "
                                         "a loop outside of all others is split",
                                         scan.save_every()));
      }
      remark_on_inner_loops(*region, remarks);
    }
  }
}

GraphPtr run_remat(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  if (options.get_int("steps", 1) < 1) {
    throw Error(ErrorKind::usage, {},
                fmt::format("remat: steps is at least 1: found {}", options.get_int("steps", 1)));
  }
  if (!contains(*graph, ops::grad)) return graph;
  remark_on_inner_loops(*graph, remarks);
  const GraphPtr loops = options.get_int("steps", 0) > 0 ? without_layers(graph) : graph;
  const std::vector<bool> differentiated = differentiated_nodes(*loops);
  return rewrite(
      *loops, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!node.is(ops::scan) || !differentiated[size_t(node.id)]) return std::nullopt;
        const Scan scan(node);
        const int64_t every = chosen_every(scan, options);
        if (every >= scan.steps() && scan.save_every() > 0) {
          remarks.notify(node, fmt::format("save_every = {} has no effect: the loop has {} steps",
                                           every, scan.steps()));
        }
        if (every == 0 || every >= scan.steps()) return std::nullopt;
        if (!has_room_for_blocks(scan)) {
          remarks.notify(node,
                         fmt::format("the derivative keeps the carries of every step, and not "
                                     "of every {}: {}",
                                     every, kNoRoomForBlocks));
          return std::nullopt;
        }
        remarks.add(node, fmt::format("the derivative keeps the carries of every {} of {} steps "
                                      "({} bytes each) and computes the others again",
                                      every, scan.steps(), carried_bytes(scan)));
        const WhereScope scope(node.where);
        const AddSteps steps = [&](const ScanOperands& from, int64_t count, Graph& in) {
          return inner_loop(scan, from, count, in);
        };
        return in_blocks(scan, operands, every, steps, steps, to);
      });
}

}  // namespace

int64_t steps_between_saved(int64_t steps) {
  return steps < 1 ? 0 : int64_t{1} << std::lround(std::log2(double(steps)) / 2);
}

constinit const Pass passes::remat{
    .name = "remat",
    .summary = "saves every so many states of a loop for its derivative and recomputes the others",
    .options = "matrices,steps",
    .run = run_remat,
};

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Unrolls loops: completely (`full`), by `steps` iterations per step of a shorter loop, or, with
// `auto`, where it is profitable. Without options nothing is unrolled.
//
// `auto` weighs the cost of a step. In a loop, a step costs its kernels, without barriers if rows
// are independent, and is compiled once. Unrolled, it costs the same kernels, a barrier after each,
// copies of its emits to their places, and a share of the compile time. Products with a zero
// initial state and unused gradients of a state are left out of loops as well
// (codegen/lower/unneeded.h). The only profitable case is therefore a loop with a single step,
// which stacks no emits and around which everything folds: measured, two steps are already faster
// as a loop (docs/lab/2026-11-loops-and-sessions.md).
//
// Copies of the body are inlined, not called; simplify and cse find what neighbouring copies share.
// A remainder of steps is unrolled after the loop. Only loops at the top level of the graph are
// unrolled: loops in their bodies are copied with them.
#include "ir/build.h"
#include "ir/mutant.h"
#include "ir/scan.h"
#include "passes/passes.h"
#include "passes/region.h"
#include "passes/scan_blocks.h"

namespace graphc::core {
namespace {

/// Emitted values in the order of step indices.
using Emitted = std::vector<Values>;  // [emit][step]

/// One step of a stream: row `step` without its first axis.
Value step_of(Value stream, int64_t step) {
  return reshape(slice(stream, 0, step, step + 1), stream.shape().without(0));
}

Value stacked(const Values& steps) {
  Values rows;
  for (Value step : steps) rows.push_back(reshape(step, step.shape().insert(0, 1)));
  return rows.size() == 1 ? rows[0] : concat(rows, 0);
}

/// Adds `steps` copies of the body to `to`, in the loop's direction.
Values add_copies(const Scan& scan, const Values& streams, Values carries, const Values& captures,
                  int64_t steps, Emitted& emitted, Graph& to) {
  emitted.assign(scan.emits().size(), Values(size_t(steps)));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t step = scan.reverse() ? steps - 1 - i : i;
    Values arguments;
    const int64_t read = mutated(Mutant::reverse_scan_read_forwards) ? i : step;
    for (Value stream : streams) arguments.push_back(step_of(stream, read));
    arguments.insert(arguments.end(), carries.begin(), carries.end());
    arguments.insert(arguments.end(), captures.begin(), captures.end());
    const Values results = inline_graph(scan.body(), arguments, to);
    carries.assign(results.begin(), results.begin() + long(carries.size()));
    const int64_t place = mutated(Mutant::emits_off_by_one_step) ? (step + 1) % steps : step;
    for (size_t k = 0; k < emitted.size(); ++k)
      emitted[k][size_t(place)] = results[carries.size() + k];
  }
  return carries;
}

/// The same, with the emits stacked.
StepsDone copies(const Scan& scan, const ScanOperands& operands, int64_t steps, Graph& to) {
  Emitted emitted;
  StepsDone done{
      add_copies(scan, operands.streams, operands.initial, operands.captures, steps, emitted, to),
      {}};
  for (const Values& emits : emitted) done.stacks.push_back(stacked(emits));
  return done;
}

Values written_out(const Scan& scan, const Values& values, Graph& to) {
  const ScanOperands operands = operands_of(scan, values);
  Emitted emitted;
  const Values carries = add_copies(scan, operands.streams, operands.initial, operands.captures,
                                    scan.steps(), emitted, to);
  Values results;
  for (size_t k = 0; k < emitted.size(); ++k) {
    results.push_back(emitted[k].empty() ? splat(to, 0, scan.emitted(k).type())
                                         : stacked(emitted[k]));
  }
  results.insert(results.end(), carries.begin(), carries.end());
  return results;
}

/// Bytes emitted per step, which unrolled copies must move into place.
int64_t emitted_bytes(const Scan& scan) {
  int64_t bytes = 0;
  for (const Value emit : scan.emits()) bytes += emit.type().bytes();
  return bytes;
}

/// Unrolls loops with a single step, at any depth; remarks why the others stay.
GraphPtr unroll_where_worth_it(const GraphPtr& whole, Remarks& remarks) {
  const GraphPtr graph = rewrite_regions(
      whole, [&](const GraphPtr& region) { return unroll_where_worth_it(region, remarks); });
  bool any = false;
  for (const Node& node : graph->nodes()) {
    if (!node.is(ops::scan)) continue;
    const Scan scan(node);
    if (scan.steps() <= 1) {
      any = true;
      continue;
    }
    remarks.add(node, fmt::format("stays a loop of {} steps: copies would have the same kernels "
                                  "{} times, a barrier behind each, and move {} bytes a step",
                                  scan.steps(), scan.steps(), emitted_bytes(scan)));
  }
  if (!any) return graph;
  return rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!node.is(ops::scan)) return std::nullopt;
        const WhereScope scope(node.where);
        const Scan scan(node);
        if (scan.steps() > 1) return std::nullopt;
        remarks.add(node,
                    scan.steps() == 0 ? "wrote out a loop of no steps" : "wrote out the only step");
        return written_out(scan, operands, to);
      });
}

GraphPtr run_unroll(const GraphPtr& graph, const PassOptions& options, Remarks& remarks) {
  const bool full = options.get_bool("full", false);
  const int64_t factor = options.get_int("steps", 1);
  if (factor < 1)
    throw Error(ErrorKind::usage, {}, fmt::format("unroll: steps is at least 1: found {}", factor));
  if (options.get_bool("auto", false)) {
    if (full || factor > 1)
      throw Error(ErrorKind::usage, {},
                  "unroll: auto chooses: neither full nor steps goes with it");
    return unroll_where_worth_it(graph, remarks);
  }
  if (!full && factor == 1) return graph;
  return rewrite(
      *graph, [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
        if (!node.is(ops::scan)) return std::nullopt;
        const WhereScope scope(node.where);
        const Scan scan(node);
        if (full || scan.steps() <= factor) {
          remarks.add(node, fmt::format("wrote out {} steps", scan.steps()));
          return written_out(scan, operands, to);
        }
        if (!has_room_for_blocks(scan)) {
          remarks.notify(node,
                         fmt::format("a step at a time, and not {}: {}", factor, kNoRoomForBlocks));
          return std::nullopt;
        }
        remarks.add(node, fmt::format("{} of {} steps at a time", factor, scan.steps()));
        const AddSteps block = [&](const ScanOperands& from, int64_t steps, Graph& in) {
          return copies(scan, from, steps, in);
        };
        return in_blocks(scan, operands, factor, block, block, to);
      });
}

}  // namespace

constinit const Pass passes::unroll{
    .name = "unroll",
    .summary = "writes loops out: in full, some steps at a time, or what is worth it",
    .options = "auto,full,steps",
    .run = run_unroll,
};

}  // namespace graphc::core

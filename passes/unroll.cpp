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

struct Operands {
  Values streams, initial, captures;
};

Operands operands_of(const Scan& scan, const Values& values) {
  const auto streams = values.begin() + long(scan.streams().size());
  const auto carries = streams + long(scan.initial().size());
  return {{values.begin(), streams}, {streams, carries}, {carries, values.end()}};
}

Values written_out(const Scan& scan, const Values& values, Graph& to) {
  const Operands operands = operands_of(scan, values);
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

/// A loop over steps [first, limit) of the streams, with `factor` steps per iteration.
const Node& blocked_loop(const Scan& scan, const Operands& operands, const Values& initial,
                         int64_t first, int64_t limit, int64_t factor, Graph& to) {
  auto body = std::make_unique<Graph>(scan.body().name());
  ScanParts parts;
  Values streams, carries, captures;
  for (size_t i = 0; i < operands.streams.size(); ++i) {
    const Value stream = slice(operands.streams[i], 0, first, limit);
    const Shape blocks = stream.shape().with(0, factor).insert(0, (limit - first) / factor);
    parts.streams.push_back(reshape(stream, blocks));
    const Value input = scan.body_streams()[i];
    streams.push_back(body->input({input.dtype(), blocks.without(0)}, input.name()));
  }
  parts.initial = initial;
  for (Value carry : scan.body_carries())
    carries.push_back(body->input(carry.type(), carry.name()));
  parts.captures = operands.captures;
  for (Value capture : scan.body_captures())
    captures.push_back(body->input(capture.type(), capture.name()));
  Emitted emitted;
  Values results = add_copies(scan, streams, carries, captures, factor, emitted, *body);
  for (const Values& steps : emitted) results.push_back(stacked(steps));
  body->set_results(results);
  parts.body = freeze(std::move(body));
  parts.steps = (limit - first) / factor;
  parts.reverse = scan.reverse();
  return add_scan(to, std::move(parts), scan.node().where);
}

/// A loop over blocks and, for the remainder, unrolled steps.
Values in_blocks(const Scan& scan, const Values& values, int64_t factor, Graph& to) {
  const Operands operands = operands_of(scan, values);
  const size_t emits = scan.emits().size();
  const int64_t rest = scan.steps() % factor;
  // The loop runs first: over the first steps, or in reverse over the last.
  const int64_t first = scan.reverse() ? rest : 0, limit = first + scan.steps() - rest;
  const Node& loop = blocked_loop(scan, operands, operands.initial, first, limit, factor, to);
  Values stacks, carries;
  for (size_t k = 0; k < emits; ++k) {
    const Value blocks = loop.result(int(k));
    stacks.push_back(reshape(blocks, blocks.shape().without(0).with(0, limit - first)));
  }
  for (size_t k = 0; k < operands.initial.size(); ++k)
    carries.push_back(loop.result(int(emits + k)));
  if (rest > 0) {
    Values streams;
    for (Value stream : operands.streams)
      streams.push_back(
          slice(stream, 0, scan.reverse() ? 0 : limit, scan.reverse() ? rest : scan.steps()));
    Emitted emitted;
    const Values last = add_copies(scan, streams, carries, operands.captures, rest, emitted, to);
    if (!mutated(Mutant::unroll_remainder_skipped)) carries = last;
    for (size_t k = 0; k < emits; ++k) {
      const Value left_over = stacked(emitted[k]);
      stacks[k] =
          scan.reverse() ? concat({left_over, stacks[k]}, 0) : concat({stacks[k], left_over}, 0);
    }
  }
  stacks.insert(stacks.end(), carries.begin(), carries.end());
  return stacks;
}

/// Bytes emitted per step, which unrolled copies must move into place.
int64_t emitted_bytes(const Scan& scan) {
  int64_t bytes = 0;
  for (const Value emit : scan.emits()) bytes += emit.type().bytes();
  return bytes;
}

/// Unrolls loops with a single step; remarks why the others stay.
GraphPtr unroll_where_worth_it(const GraphPtr& graph, Remarks& remarks) {
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
  return rewrite(*graph,
                 [&](const Node& node, const Values& operands, Graph& to) -> std::optional<Values> {
                   if (!node.is(ops::scan)) return std::nullopt;
                   const WhereScope scope(node.where);
                   const Scan scan(node);
                   if (full || scan.steps() <= factor) {
                     remarks.add(node, fmt::format("wrote out {} steps", scan.steps()));
                     return written_out(scan, operands, to);
                   }
                   remarks.add(node, fmt::format("{} of {} steps at a time", factor, scan.steps()));
                   return in_blocks(scan, operands, factor, to);
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

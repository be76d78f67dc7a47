// SPDX-License-Identifier: Apache-2.0
// The rules of loops and of gradients.
//
// How the carries of a loop are held is found by trying: a carry that is whole before the first
// step, and shared out or a sum of terms after a step, is so from the start. Each carry changes at
// most once.
#include <algorithm>

#include "ir/build.h"
#include "ir/op.h"
#include "ir/scan.h"
#include "passes/region.h"
#include "passes/replicate/rules.h"

namespace graphc::core {
namespace {

/// How the parts of a loop are held.
struct LoopHoldings {
  std::vector<Holding> streams;  ///< of a step
  std::vector<Holding> carries, captures;
};

/// What is added for some of the own shards.
struct ReplicatedBody {
  GraphPtr graph;
  std::vector<Holding> next, emits;
  std::vector<size_t> next_values, emit_values;  ///< of the body's results for each
  Replicated found;
};

Shape own(const Replicator& r, Value value, const Holding& holding) {
  return own_shape(value.shape(), holding, r.shards().count);
}

/// The body for these shards. The next values of carries are held as the carries are, unless
/// `trial`: then as they come.
ReplicatedBody body_for(Replicator& r, const Scan& scan, const LoopHoldings& holdings,
                        const Shards& shards, bool trial) {
  auto graph = std::make_unique<Graph>(scan.body().name());
  Replicator inner(scan.body(), *graph, shards, trial ? nullptr : r.remarks());
  const auto add_inputs = [&](std::span<const Value> values, const std::vector<Holding>& held) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Type type{values[i].dtype(), own(r, values[i], held[i])};
      Values inputs;
      for (size_t k = 0; k < (held[i].whole() ? 1 : shards.own.size()); ++k) {
        inputs.push_back(graph->input(type, Replicator::name_of(values[i].name(), held[i]),
                                      values[i].node->where));
      }
      inner.set(values[i], held[i], std::move(inputs));
    }
  };
  add_inputs(scan.body_streams(), holdings.streams);
  add_inputs(scan.body_carries(), holdings.carries);
  add_inputs(scan.body_captures(), holdings.captures);
  inner.run();
  ReplicatedBody made;
  Values results;
  const auto add_results = [&](std::span<const Value> values, const std::vector<Holding>* wanted,
                               std::vector<Holding>& held, std::vector<size_t>& counts) {
    for (size_t i = 0; i < values.size(); ++i) {
      held.push_back(wanted != nullptr ? (*wanted)[i] : inner.holding(values[i]));
      const Values each = inner.as(values[i], held.back());
      counts.push_back(each.size());
      results.insert(results.end(), each.begin(), each.end());
    }
  };
  add_results(scan.next(), trial ? nullptr : &holdings.carries, made.next, made.next_values);
  add_results(scan.emits(), nullptr, made.emits, made.emit_values);
  graph->set_results(std::move(results));
  made.found = inner.found();
  made.graph = freeze(std::move(graph));
  return made;
}

Holding of_step(const Holding& stream) {
  return stream.parts() ? parts_along(stream.axis - 1, stream.outer) : stream;
}
Holding of_all_steps(const Holding& emit) {
  return emit.parts() ? parts_along(emit.axis + 1, emit.outer) : emit;
}

/// How the operands of the loop are held, and the carries.
LoopHoldings holdings_of(Replicator& r, const Scan& scan, ReplicatedBody& trial) {
  LoopHoldings holdings;
  for (const Value stream : scan.streams()) {
    const Holding& holding = r.holding(stream);
    // Steps are not shared out.
    holdings.streams.push_back(holding.parts() && holding.axis > 0 ? of_step(holding) : kWhole);
  }
  for (const Value initial : scan.initial()) holdings.carries.push_back(r.holding(initial));
  for (const Value capture : scan.captures()) {
    const Holding& holding = r.holding(capture);
    holdings.captures.push_back(holding.terms() ? kWhole : holding);
  }
  const Shards one = r.shards().only(r.shards().own[0]);
  for (bool changed = true; std::exchange(changed, false);) {
    trial = body_for(r, scan, holdings, one, true);
    for (size_t i = 0; i < holdings.carries.size(); ++i) {
      Holding& carry = holdings.carries[i];
      if (!carry.whole() || trial.next[i].whole()) continue;
      carry = trial.next[i];
      changed = true;
    }
  }
  return holdings;
}

/// Adds the loop for some of the own shards, `first` being the place of the first; appends what is
/// held of the results.
ReplicatedBody add_loop(Replicator& r, const Scan& scan, const LoopHoldings& holdings,
                        const Shards& shards, size_t first, std::vector<Values>& held) {
  ReplicatedBody made = body_for(r, scan, holdings, shards, false);
  const auto operands = [&](std::span<const Value> values, const std::vector<Holding>& as,
                            bool streams) {
    Values all;
    for (size_t i = 0; i < values.size(); ++i) {
      const Values each = r.as(values[i], streams ? of_all_steps(as[i]) : as[i]);
      if (as[i].whole()) {
        all.push_back(each[0]);
      } else {
        for (size_t k = 0; k < shards.own.size(); ++k) all.push_back(each[first + k]);
      }
    }
    return all;
  };
  ScanParts parts{operands(scan.streams(), holdings.streams, true),
                  operands(scan.initial(), holdings.carries, false),
                  operands(scan.captures(), holdings.captures, false),
                  made.graph,
                  scan.steps(),
                  scan.reverse(),
                  scan.save_every()};
  const Node& loop = add_scan(r.to(), std::move(parts), r.line_of(scan.node()));
  int next = 0;
  const size_t emits = made.emits.size();
  for (size_t i = 0; i < emits + made.next.size(); ++i) {
    const bool emit = i < emits;
    const bool whole = (emit ? made.emits[i] : made.next[i - emits]).whole();
    const size_t count = emit ? made.emit_values[i] : made.next_values[i - emits];
    for (size_t k = 0; k < count; ++k, ++next) {
      if (!whole || held[i].empty()) held[i].push_back(loop.result(next));
    }
  }
  return made;
}

}  // namespace

void replicate_scan(Replicator& r, const Node& node) {
  const Scan scan(node);
  const bool whole =
      std::ranges::all_of(node.operands, [&](Value operand) { return r.holding(operand).whole(); });
  if (whole) return r.add_whole(node);
  ReplicatedBody trial;
  const LoopHoldings holdings = holdings_of(r, scan, trial);
  for (size_t i = 0; i < scan.streams().size(); ++i) {
    if (r.remarks() != nullptr && r.holding(scan.streams()[i]).parts() &&
        holdings.streams[i].whole())
      r.remarks()->add(node, fmt::format("every rank has all of stream %{}: steps are not shared "
                                         "out",
                                         scan.streams()[i].name()));
  }
  std::vector<Values> held(size_t(node.results()));
  ReplicatedBody made;
  if (trial.found.communicates || r.shards().own.size() == 1) {
    if (trial.found.communicates && r.remarks() != nullptr)
      r.remarks()->add(node, "ranks communicate in every step");
    made = add_loop(r, scan, holdings, r.shards(), 0, held);
  } else {
    for (size_t k = 0; k < r.shards().own.size(); ++k)
      made = add_loop(r, scan, holdings, r.shards().only(r.shards().own[k]), k, held);
  }
  r.note(made.found);
  const size_t emits = made.emits.size();
  for (size_t i = 0; i < held.size(); ++i) {
    const Holding holding = i < emits ? of_all_steps(made.emits[i]) : made.next[i - emits];
    r.set(node.result(int(i)), holding, std::move(held[i]));
  }
}

namespace {

bool is_leaf(Value value) {
  return value.node->is(ops::input) || value.node->is(ops::state) || value.node->is(ops::watch);
}

/// The gradients of one loss by leaves.
Values gradients(Replicator& r, const Node& grad, Value loss, const Values& leaves,
                 const std::vector<std::string>& names) {
  Values operands{loss};
  operands.insert(operands.end(), leaves.begin(), leaves.end());
  return results_of(r.to().add(ops::grad, std::move(operands), {}, {}, r.line_of(grad), names));
}

}  // namespace

/// What the shards call their losses are terms of the loss. A leaf that every rank has gets a term
/// of its gradient from each; the part of a leaf, what all losses of this rank say of it.
void replicate_grad(Replicator& r, const Node& node) {
  const Values losses = r.as(node.operands[0], kTerms);
  Values whole, parts;
  std::vector<std::string> whole_names, parts_names;
  std::vector<int> whole_results, parts_results;
  for (int i = 0; i < node.results(); ++i) {
    const Value leaf = node.operands[size_t(i) + 1];
    const Values held = r.as(leaf, r.holding(leaf));
    if (r.holding(leaf).parts() && is_leaf(held[0])) {
      parts.insert(parts.end(), held.begin(), held.end());
      parts_results.push_back(i);
      parts_names.insert(parts_names.end(), held.size(),
                         Replicator::name_of(node.names[size_t(i)], r.holding(leaf)));
    } else {
      whole.push_back(r.whole(leaf));
      whole_results.push_back(i);
      whole_names.push_back(Replicator::name_of(node.names[size_t(i)], kTerms));
    }
  }
  if (!whole.empty()) {
    std::vector<Values> terms(whole.size());
    for (const Value loss : losses) {
      const Values each = gradients(r, node, loss, whole, whole_names);
      for (size_t i = 0; i < each.size(); ++i) terms[i].push_back(each[i]);
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      const Value result = node.result(whole_results[i]);
      // Summed at once: what is done with a gradient is not linear, as a rule.
      r.set(result, kWhole, {r.sum(result, terms[i], r.shards().gradients)});
    }
  }
  if (parts.empty()) return;
  Value loss = losses[0];
  for (size_t k = 1; k < losses.size(); ++k) loss = loss + losses[k];
  const Values all = gradients(r, node, loss, parts, parts_names);
  const size_t shards = r.shards().own.size();
  for (size_t i = 0; i < parts_results.size(); ++i) {
    const auto begin = all.begin() + long(i * shards);
    const Value leaf = node.operands[size_t(parts_results[i]) + 1];
    r.set(node.result(parts_results[i]), r.holding(leaf), Values(begin, begin + long(shards)));
  }
}

}  // namespace graphc::core

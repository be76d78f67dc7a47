// SPDX-License-Identifier: Apache-2.0
// From scans to loops of a plan: what their bodies read and write at each step.
#include <algorithm>
#include <memory>
#include <ranges>
#include <utility>

#include "codegen/lower/context.h"
#include "codegen/lower/scan_views.h"
#include "codegen/lower/unneeded.h"
#include "codegen/step/view.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "passes/kernels/matrix_rows.h"

namespace graphc::core {
namespace {

/// What a loop of no steps leaves of a carry: what there was, at its place.
View handed_on(LowerContext& context, View initial) {
  if (!mutated(Mutant::state_handed_on_unseen)) return initial;
  const Buffer from = context.plan().buffers[size_t(initial.address.buffer)];
  if (from.place == Place::state)
    initial.address.buffer = context.add_buffer(from.name, from.place, from.index, from.bytes);
  return initial;
}

/// A carry whose next value is emitted: each step finds it in the stack of what was emitted.
void bind_history(LowerContext& context, const Scan& scan, const View& initial,
                  const View& emit_step, const View& emitted, ScanViews& bound) {
  View read = emit_step;
  const int64_t step = read.address.terms.back().step;
  read.address = moved(read.address, scan.reverse() ? step : -step);
  read.address.first_loop = context.depth();
  read.address.at_first = std::make_shared<const Address>(initial.address);
  const bool first = scan.reverse() != mutated(Mutant::final_carry_of_first_step);
  bound.inputs.push_back(read);
  bound.results.push_back(emit_step);
  bound.final.push_back(scan.steps() == 0 ? handed_on(context, initial)
                                          : at_index(emitted, first ? 0 : scan.steps() - 1));
}

/// Any other carry.
void bind_carry(LowerContext& context, const Scan& scan, size_t index, const View& initial, int id,
                ScanViews& bound) {
  const Type type{initial.dtype, initial.shape};
  const std::string& name = scan.body_carries()[index].name();
  View now, next;
  context.in_scope(id, [&] {
    now = context.temporary(type, name);
    next = context.temporary(type, scan.next()[index].name());
  });
  Carry carry{now.address.buffer, next.address.buffer,   initial.address,
              type.dtype,         type.shape.elements(), 1};
  if (const Shape rows = matrix_rows(scan); type.shape.begins_with(rows))
    carry.rows = rows.elements();
  bound.carries.push_back(std::move(carry));
  bound.inputs.push_back(now);
  bound.results.push_back(next);
  bound.final.push_back(scan.steps() == 0 ? handed_on(context, initial) : next);
}

/// Whether an emit has a matrix in every row, and only loops read it, or slices, of which histories
/// are made.
bool is_read_by_steps(const LowerContext& context, const Scan& scan, size_t emit) {
  const Shape rows = matrix_rows(scan);
  const Shape& shape = scan.emits()[emit].shape();
  if (rows.rank() == 0 || !shape.begins_with(rows) || shape.rank() < rows.rank() + 2) return false;
  const Value value = scan.emitted(emit);
  const auto reads = [&](const Node& node) { return std::ranges::count(node.operands, value) > 0; };
  return std::ranges::all_of(context.lowered->nodes(), [&](const Node& node) {
    return node.is(ops::scan) || node.is(ops::slice) || !reads(node);
  });
}

}  // namespace

ScanViews bind_scan(LowerContext& context, const Scan& scan, const std::vector<View>& operands,
                    const Node& node, const ViewMap& wanted, int id, int groups) {
  ScanViews bound;
  const int depth = context.depth();
  const size_t streams = scan.streams().size(), carries = scan.initial().size();
  for (size_t i = 0; i < streams; ++i) bound.inputs.push_back(step_of(operands[i], depth));
  // Emits first: a carry whose next value is emitted reads its own history.
  std::vector<View> emit_steps;
  for (size_t e = 0; e < scan.emits().size(); ++e) {
    size_t same = e;
    for (size_t other = 0; other < e; ++other) {
      if (scan.emits()[other] == scan.emits()[e] && wanted.find(node.result(int(e))) == nullptr)
        same = other;
    }
    bound.emitted.push_back(
        same != e ? bound.emitted[same]
                  : context.destination(node.result(int(e)), wanted,
                                        groups == 0 && is_read_by_steps(context, scan, e), groups));
    emit_steps.push_back(step_of(bound.emitted.back(), depth));
  }
  for (size_t c = 0; c < carries; ++c) {
    const View& operand = operands[streams + c];
    const std::string& name = scan.body_carries()[c].name();
    const auto history = std::ranges::find(scan.emits(), scan.next()[c]);
    if (history == scan.emits().end()) {
      bind_carry(context, scan, c, context.straight(operand, name), id, bound);
    } else {
      const size_t e = size_t(history - scan.emits().begin());
      bind_history(context, scan, context.laid_out_like(emit_steps[e], operand, name),
                   emit_steps[e], bound.emitted[e], bound);
    }
  }
  bound.inputs.insert(bound.inputs.end(), operands.begin() + long(streams + carries),
                      operands.end());
  bound.results.insert(bound.results.end(), emit_steps.begin(), emit_steps.end());
  return bound;
}

void publish(const Scan& scan, const ScanViews& bound, const Node& node, ViewMap& views) {
  const size_t emits = scan.emits().size();
  for (size_t i = 0; i < emits; ++i) views.set(node.result(int(i)), bound.emitted[i]);
  for (size_t c = 0; c < bound.final.size(); ++c)
    views.set(node.result(int(emits + c)), bound.final[c]);
}

void lower_loop(LowerContext& context, const Node& node, ViewMap& views, ViewMap& wanted) {
  const Scan scan(node);
  std::vector<View> operands;
  for (Value operand : node.operands) operands.push_back(views.get(operand));
  LowerContext::OpenLoop loop;
  loop.first_buffer = int(context.plan().buffers.size());
  loop.call.id = context.new_loop_id();
  const ScanViews bound = bind_scan(context, scan, operands, node, wanted, loop.call.id);
  publish(scan, bound, node, views);
  if (scan.steps() == 0) return;
  loop.call.carries = bound.carries;
  loop.call.name = node.names.empty() ? "loop" : node.names[0];
  loop.call.steps = scan.steps();
  loop.call.reverse = scan.reverse();
  loop.call.where = node.where;
  const Shape rows_around = std::exchange(context.matrix_rows, matrix_rows(scan));
  loop.call.matrices = context.matrix_rows.rank() > 0;
  context.open(loop);
  const int first_buffer = int(context.plan().buffers.size());
  ViewMap inner, inner_wanted;
  for (size_t i = 0; i < bound.inputs.size(); ++i)
    inner.set(scan.body().inputs()[i], bound.inputs[i]);
  for (size_t i = 0; i < bound.results.size(); ++i) {
    const Value result = scan.body().results()[i];
    if (inner_wanted.find(result) == nullptr) inner_wanted.set(result, bound.results[i]);
  }
  lower_nodes(context, scan.body(), inner, inner_wanted);
  for (size_t i = 0; i < bound.results.size(); ++i) {
    const Value result = scan.body().results()[i];
    // A carry that is emitted is two results at one place.
    const auto is_there = [&](size_t other) {
      return scan.body().results()[other] == result &&
             same_view(bound.results[other], bound.results[i]);
    };
    if (std::ranges::any_of(std::views::iota(size_t{0}, i), is_there)) continue;
    context.copy_unless_there(inner.get(result), bound.results[i], result.name());
  }
  mark_idle_at_last(context, scan, node, bound, first_buffer, loop.call.body);
  context.close(loop, std::nullopt);
  context.matrix_rows = rows_around;
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// From scans to loops of a plan: carries and their histories, recurrent kernels and their panels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "codegen/history.h"
#include "codegen/lowering.h"
#include "codegen/view.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc {

Lowering::ScanViews Lowering::bind_scan(const Scan& scan, const std::vector<View>& operands,
                                        const Node& node, const ViewMap& wanted, int depth) {
  ScanViews bound;
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
    bound.emitted.push_back(same != e ? bound.emitted[same]
                                      : destination(node.result(int(e)), wanted));
    emit_steps.push_back(step_of(bound.emitted.back(), depth));
  }
  for (size_t c = 0; c < carries; ++c) {
    const View initial = straight(operands[streams + c], scan.body_carries()[c].name());
    bind_carry(scan, c, initial, depth, emit_steps, bound);
  }
  bound.inputs.insert(bound.inputs.end(), operands.begin() + long(streams + carries),
                      operands.end());
  bound.results.insert(bound.results.end(), emit_steps.begin(), emit_steps.end());
  return bound;
}

void Lowering::bind_carry(const Scan& scan, size_t carry, const View& initial, int depth,
                          const std::vector<View>& emit_steps, ScanViews& bound) {
  const Value next = scan.next()[carry];
  const std::string& name = scan.body_carries()[carry].name();
  const auto history = std::find(scan.emits().begin(), scan.emits().end(), next);
  View read = initial, write, final = initial;
  if (history != scan.emits().end()) {
    const size_t e = size_t(history - scan.emits().begin());
    write = read = emit_steps[e];
    const int64_t step = write.address.terms.back().step;
    read.address = moved(write.address, scan.reverse() ? step : -step);
    const bool first = scan.reverse() != mutated(Mutant::final_carry_of_first_step);
    if (scan.steps() > 0) final = at_index(bound.emitted[e], first ? 0 : scan.steps() - 1);
  } else if (const std::optional<View> place = carry_in_place(scan, carry, initial)) {
    bound.inputs.push_back(*place);
    bound.results.push_back(*place);
    bound.final.push_back(*place);
    return;
  } else {
    const int64_t bytes = initial.shape.elements() * size_of(initial.dtype);
    const int64_t slot = (bytes + 63) / 64 * 64;
    View slots = contiguous_view(add_buffer(name, Place::arena, 0, 2 * slot),
                                 {initial.dtype, initial.shape});
    const int64_t other = mutated(Mutant::carries_assigned_in_turn) ? 0 : slot;
    write = read = slots;
    write.address.offset = other;
    write.address.terms.push_back({depth, 0, -other});
    read.address.terms.push_back({depth, 0, other});
    if (scan.steps() > 0) final.address = moved(slots.address, scan.steps() % 2 == 1 ? other : 0);
  }
  read.address.first_loop = depth;
  read.address.at_first = std::make_shared<const Address>(initial.address);
  bound.inputs.push_back(read);
  bound.results.push_back(write);
  bound.final.push_back(final);
}

std::optional<View> Lowering::carry_in_place(const Scan& scan, size_t carry, const View& initial) {
  const Graph& body = scan.body();
  const Value old = scan.body_carries()[carry], next = scan.next()[carry];
  if (!next.node->is(ops::kernel) || next.node->attributes.get_string("family", "") == "recurrent")
    return std::nullopt;
  // It is read in this kernel alone, and what becomes of it is read in the next step alone.
  const std::vector<int> uses = use_counts(body);
  const auto reads = std::ranges::count(next.node->operands, old);
  const bool read_later =
      uses[size_t(old.node->id)] != reads && !mutated(Mutant::carry_overwritten_early);
  if (read_later || !may_replace(*next.node, next.index, old) ||
      std::ranges::count(body.results(), next) != 1)
    return std::nullopt;
  for (const Node& node : body.nodes()) {
    if (std::ranges::count(node.operands, next) > 0) return std::nullopt;
  }
  if (scan.steps() == 0) return initial;
  const Value first = scan.initial()[carry];
  const Node& scan_node = scan.node();
  if (first.node->is(ops::constant) && &graph_ == scan_node.graph &&
      use_counts(graph_)[size_t(first.node->id)] == 1 &&
      plan_.buffers[size_t(initial.address.buffer)].place == Place::arena)
    return initial;
  const View place = temporary({initial.dtype, initial.shape}, old.name());
  copy(initial, place, old.name());
  return place;
}

void Lowering::publish(const Scan& scan, const ScanViews& bound, const Node& node, ViewMap& views) {
  const size_t emits = scan.emits().size();
  for (size_t i = 0; i < emits; ++i) views.set(node.result(int(i)), bound.emitted[i]);
  for (size_t c = 0; c < bound.final.size(); ++c)
    views.set(node.result(int(emits + c)), bound.final[c]);
}

void Lowering::lower_loop(const Node& node, ViewMap& views, ViewMap& wanted) {
  const Scan scan(node);
  std::vector<View> operands;
  for (Value operand : node.operands) operands.push_back(views.get(operand));
  const ScanViews bound = bind_scan(scan, operands, node, wanted, depth_);
  publish(scan, bound, node, views);
  if (scan.steps() == 0) return;
  LoopCall loop;
  loop.name = node.names.empty() ? "loop" : node.names[0];
  loop.steps = scan.steps();
  loop.reverse = scan.reverse();
  std::vector<Record>* outer = records_;
  const int outer_scope = scope_;
  loop.id = scope_ = loops_++;
  records_ = &loop.body;
  plan_.loop_depth = std::max(plan_.loop_depth, ++depth_);
  ViewMap inner, inner_wanted;
  for (size_t i = 0; i < bound.inputs.size(); ++i)
    inner.set(scan.body().inputs()[i], bound.inputs[i]);
  for (size_t i = 0; i < bound.results.size(); ++i) {
    const Value result = scan.body().results()[i];
    if (inner_wanted.find(result) == nullptr) inner_wanted.set(result, bound.results[i]);
  }
  lower_nodes(scan.body(), inner, inner_wanted);
  for (size_t i = 0; i < bound.results.size(); ++i) {
    copy_unless_there(inner.get(scan.body().results()[i]), bound.results[i],
                      scan.body().results()[i].name());
  }
  --depth_;
  records_ = outer;
  scope_ = outer_scope;
  add("loop", std::move(loop));
}

void Lowering::pack_matrices(std::vector<NestCall>& calls) {
  std::map<std::string, Address> packed;
  for (NestCall& call : calls) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    if (call.products.empty()) continue;
    const TileShape shape = tile_shape(program, vectors_.lanes, vectors_.registers);
    for (CallProduct& product : call.products) {
      PackCall pack;
      pack.name = call.name;
      pack.from = product.b;
      pack.k = product.k;
      pack.unit = call.unit;
      pack.parts = product.parts;
      pack.from_k = product.b_k;
      pack.from_column = product.b_column;
      pack.from_part = product.b_part;
      pack.program = call.program;
      const std::string key = fmt::format(
          "{} {} {} {} {} {} {} {}",
          mutated(Mutant::panels_of_another_matrix) ? 0 : pack.from.buffer, pack.from.offset,
          pack.from_k, pack.from_column, pack.from_part, pack.unit, pack.parts, shape.width());
      const auto found = packed.find(key);
      if (found == packed.end()) {
        const int64_t blocks = (call.unit + shape.width() - 1) / shape.width();
        const int64_t bytes = blocks * product.k * product.parts * shape.width() * 4;
        pack.to.buffer = add_buffer(call.name + ".panels", Place::arena, 0, bytes);
        packed[key] = pack.to;
        add("pack", pack);
      }
      product.b = packed[key];
      product.packed = true;
    }
  }
}

void Lowering::lower_recurrent(const Node& node, const Node& scan_node,
                               const std::vector<View>& inputs, ViewMap& views, ViewMap& wanted) {
  const Scan scan(scan_node);
  const Graph& body = scan.body();
  std::string why_not;
  const std::optional<RowProgram> rows = analyse_row_program(body, &why_not);
  if (!rows) throw input_error({}, "a recurrent kernel that is no row program: {}", why_not);
  const ScanViews bound = bind_scan(scan, inputs, node, wanted, depth_);
  publish(scan, bound, node, views);
  if (scan.steps() == 0) return;
  binding_.inputs = bound.inputs;
  binding_.results = bound.results;
  binding_.name = node.names[0];
  binding_.flatten = false;
  std::vector<NestCall> calls = lower_rows(body, *rows, binding_);
  binding_.flatten = true;
  pack_matrices(calls);
  LoopCall loop;
  loop.name = node.names[0];
  loop.steps = scan.steps();
  loop.reverse = scan.reverse();
  // What repeats along some axes of the rows only keeps them apart: rows cannot be shared out.
  loop.private_rows = std::ranges::all_of(
      calls, [&](const NestCall& call) { return call.outer.empty() && call.rows == rows->rows(); });
  loop.id = loop.private_rows ? -1 : loops_++;
  loop.rows = rows->rows();
  for (NestCall& call : calls) loop.body.push_back({"recurrent", std::move(call)});
  plan_.loop_depth = std::max(plan_.loop_depth, depth_ + 1);
  add("recurrent", std::move(loop));
}

void Lowering::find_histories(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    const std::optional<ShiftedHistory> found = shifted_history(node);
    if (found)
      history_front_.emplace(std::pair{found->history.node, found->history.index}, found->front);
  }
}

bool Lowering::lower_history(const Node& kernel, ViewMap& views, const ViewMap& wanted) {
  const std::optional<ShiftedHistory> found = shifted_history(kernel);
  if (!found || wanted.find(kernel.result()) != nullptr) return false;
  const auto slot = history_front_.find({found->history.node, found->history.index});
  const View& history = views.get(found->history);
  // Without a slot of its own where the history is a result of the graph, or has the other slot.
  if (slot == history_front_.end() || slot->second != found->front) return false;
  const Buffer& buffer = plan_.buffers[size_t(history.address.buffer)];
  const int64_t step = history.strides[0] * size_of(history.dtype);
  if (buffer.place != Place::arena ||
      buffer.bytes != history.shape.elements() * size_of(history.dtype) + step)
    return false;
  View view = history, initial = history;
  initial.shape = found->initial.shape();
  const int64_t steps = history.shape[0];
  initial.address = moved(history.address, found->front ? -step : steps * step);
  view.address = moved(history.address, found->front ? -step : step);
  copy(views.get(found->initial), initial, found->initial.name());
  views.set(kernel.result(), view);
  return true;
}

}  // namespace graphc

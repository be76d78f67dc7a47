// SPDX-License-Identifier: Apache-2.0
// From scans to loops of a plan: carries and their histories, recurrent kernels and their panels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "codegen/lower/history.h"
#include "codegen/lower/lowering.h"
#include "codegen/plan/view.h"
#include "ir/mutant.h"
#include "ir/op.h"
#include "ir/rewrite.h"

namespace graphc {

Lowering::ScanViews Lowering::bind_scan(const Scan& scan, const std::vector<View>& operands,
                                        const Node& node, const ViewMap& wanted, int depth,
                                        int id) {
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
    const auto history = std::ranges::find(scan.emits(), scan.next()[c]);
    if (history == scan.emits().end()) {
      bind_carry(scan, c, initial, id, bound);
    } else {
      const size_t e = size_t(history - scan.emits().begin());
      bind_history(scan, initial, depth, emit_steps[e], bound.emitted[e], bound);
    }
  }
  bound.inputs.insert(bound.inputs.end(), operands.begin() + long(streams + carries),
                      operands.end());
  bound.results.insert(bound.results.end(), emit_steps.begin(), emit_steps.end());
  return bound;
}

void Lowering::bind_history(const Scan& scan, const View& initial, int depth, const View& emit_step,
                            const View& emitted, ScanViews& bound) {
  View read = emit_step;
  const int64_t step = read.address.terms.back().step;
  read.address = moved(read.address, scan.reverse() ? step : -step);
  read.address.first_loop = depth;
  read.address.at_first = std::make_shared<const Address>(initial.address);
  const bool first = scan.reverse() != mutated(Mutant::final_carry_of_first_step);
  bound.inputs.push_back(read);
  bound.results.push_back(emit_step);
  bound.final.push_back(scan.steps() == 0 ? initial
                                          : at_index(emitted, first ? 0 : scan.steps() - 1));
}

void Lowering::bind_carry(const Scan& scan, size_t index, const View& initial, int id,
                          ScanViews& bound) {
  const Type type{initial.dtype, initial.shape};
  const std::string& name = scan.body_carries()[index].name();
  const int outer_scope = std::exchange(scope_, id);
  const View now = temporary(type, name), next = temporary(type, scan.next()[index].name());
  scope_ = outer_scope;
  bound.carries.push_back({now.address.buffer, next.address.buffer, initial.address, type.dtype,
                           type.shape.elements()});
  bound.inputs.push_back(now);
  bound.results.push_back(next);
  bound.final.push_back(scan.steps() == 0 ? initial : next);
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
  LoopCall loop;
  loop.id = loops_++;
  ScanViews bound = bind_scan(scan, operands, node, wanted, depth_, loop.id);
  publish(scan, bound, node, views);
  if (scan.steps() == 0) return;
  loop.carries = std::move(bound.carries);
  loop.name = node.names.empty() ? "loop" : node.names[0];
  loop.steps = scan.steps();
  loop.reverse = scan.reverse();
  std::vector<Record>* outer = std::exchange(records_, &loop.body);
  const int outer_scope = std::exchange(scope_, loop.id);
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

namespace {

/// What panels are made of, and their form: equal ones are made once.
struct PanelKey {
  Address from;
  int64_t k, unit, parts, from_k, from_column, from_part;
  int width;  ///< of a block

  bool operator==(const PanelKey&) const = default;
};

}  // namespace

void Lowering::make_panels(std::vector<NestCall>& calls) {
  std::vector<std::pair<PanelKey, Address>> packed;
  for (NestCall& call : calls) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    if (call.products.empty()) continue;
    const TileShape shape = tile_shape(program, vectors_.lanes, vectors_.registers);
    for (CallProduct& product : call.products) {
      PanelKey key{product.b,   product.k,        call.unit,      product.parts,
                   product.b_k, product.b_column, product.b_part, shape.width()};
      auto found = std::ranges::find(packed, key, &std::pair<PanelKey, Address>::first);
      if (mutated(Mutant::panels_of_another_matrix) && !packed.empty()) found = packed.begin();
      if (mutated(Mutant::panels_of_another_length)) {
        found = std::ranges::find_if(packed, [&](const auto& made) {
          key.k = made.first.k;
          return made.first == key;
        });
      }
      if (found == packed.end()) {
        PanelCall pack{call.name, product.b};
        pack.k = product.k;
        pack.unit = call.unit;
        pack.parts = product.parts;
        pack.from_k = product.b_k;
        pack.from_column = product.b_column;
        pack.from_part = product.b_part;
        pack.program = call.program;
        const int64_t blocks = (call.unit + shape.width() - 1) / shape.width();
        const int64_t bytes = blocks * product.k * product.parts * shape.width() * 4;
        pack.to.buffer = add_buffer(call.name + ".panels", Place::arena, 0, bytes);
        found = packed.emplace(packed.end(), std::move(key), pack.to);
        add("pack", std::move(pack));
      }
      product.b = found->second;
      product.in_panels = true;
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
  LoopCall loop;
  const int id = loops_++;
  ScanViews bound = bind_scan(scan, inputs, node, wanted, depth_, id);
  publish(scan, bound, node, views);
  if (scan.steps() == 0) return;
  loop.carries = std::move(bound.carries);
  binding_.inputs = bound.inputs;
  binding_.results = bound.results;
  binding_.name = node.names[0];
  binding_.flatten = false;
  std::vector<NestCall> calls = lower_rows(body, *rows, binding_);
  binding_.flatten = true;
  make_panels(calls);
  loop.name = node.names[0];
  loop.steps = scan.steps();
  loop.reverse = scan.reverse();
  // What repeats along some axes of the rows only keeps them apart: rows cannot be shared out.
  loop.private_rows = std::ranges::all_of(
      calls, [&](const NestCall& call) { return call.outer.empty() && call.rows == rows->rows(); });
  loop.id = loop.private_rows ? -1 : id;
  loop.rows = rows->rows();
  for (NestCall& call : calls) loop.body.push_back({"recurrent", std::move(call)});
  plan_.loop_depth = std::max(plan_.loop_depth, depth_ + 1);
  add("recurrent", std::move(loop));
}

void Lowering::find_histories(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (const std::optional<ShiftedHistory> found = shifted_history(node))
      history_slots_.emplace(std::pair{found->history.node, found->history.index}, *found);
  }
}

bool Lowering::lower_history(const Node& kernel, ViewMap& views, const ViewMap& wanted) {
  const std::optional<ShiftedHistory> found = shifted_history(kernel);
  if (!found || wanted.find(kernel.result()) != nullptr) return false;
  const auto slot = history_slots_.find({found->history.node, found->history.index});
  const View& history = views.get(found->history);
  // Without a slot of its own where the history is a result of the graph, or the one slot is for
  // another value or at the other end.
  if (slot == history_slots_.end()) return false;
  const bool same = mutated(Mutant::history_slot_of_another) ? slot->second.front == found->front
                                                             : slot->second == *found;
  if (!same) return false;
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

// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/touched.h"

#include <algorithm>

#include "codegen/cuda/loop_places.h"
#include "codegen/plan/visit.h"
#include "ir/cases.h"

namespace graphc::core::cuda {
namespace {

void stretch_around(Extent& extent, const std::vector<int64_t>& strides, const NestCall& call) {
  for (size_t axis = 0; axis < strides.size(); ++axis)
    extent.stretch(strides[axis], call.outer[axis]);
}

/// Lists what records touch.
class TouchedBytes {
 public:
  TouchedBytes(const Plan& plan, const Position& position, int depth)
      : plan_(plan), position_(position), depth_(depth) {}

  std::vector<Touched> of(const Record& record) {
    add(record);
    return std::move(found_);
  }

 private:
  void add(const Record& record) {
    std::visit(Cases{[&](const NestCall& call) { nest(call); },
                     [&](const PanelCall& call) { panels(call); },
                     [&](const TableCall& call) { table(call); },
                     [&](const LayerCall& call) { layer(record, call); },
                     [&](const LoopCall& call) { loop(call); },
                     [&](const BlockCall& call) {
                       for (const Record& inner : call.body) add(inner);
                     }},
               record.call);
  }

  void nest(const NestCall& call) {
    const NestProgram& program = plan_.programs[size_t(call.program)];
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const OperandKind kind = program.operands[i].kind;
      if (kind == OperandKind::iota || kind == OperandKind::literal) continue;
      add(call.operands[i].address, operand_extent(program, call, i), kind != OperandKind::load);
    }
    for (size_t i = 0; i < call.products.size(); ++i) {
      add(call.products[i].a, left_extent(program, call, i), false);
      add(call.products[i].b, right_extent(program, call, i), false);
    }
  }

  void panels(const PanelCall& call) {
    const PanelForm& form = call.panels;
    Extent from{0, size_of(form.dtype)};
    from.stretch(call.from_strides.k, form.k);
    from.stretch(call.from_strides.part, form.parts);
    from.stretch(call.from_strides.column, form.unit);
    add(call.from, from, false);
    add(call.to, {0, form.bytes()}, true);
  }

  /// Of a table the whole of it: its indices are not known.
  void table(const TableCall& call) {
    const bool gathers = call.op == TableOp::gather;
    add(call.indices, {0, call.count * size_of(call.index_dtype)}, false);
    if (call.op == TableOp::check_labels)
      return add(call.rows, {0, call.count * size_of(call.index_dtype)}, true);
    add(call.table, {0, call.table_rows * call.row_bytes}, !gathers);
    add(call.rows, {0, call.count * call.row_bytes}, gathers);
    if (call.op == TableOp::merge_rows)
      add(call.distinct, {0, call.count * size_of(call.distinct_dtype)}, true);
  }

  /// Whole buffers, and what the layers of a step have in common: a workspace, and what is kept
  /// from a layer to its gradients.
  void layer(const Record& record, const LayerCall&) {
    visit_accesses(plan_, record, [&](const Address& address, Access access) {
      whole_buffers(address, access == Access::write);
    });
    found_.push_back({kLibrarySpace, {0, 1}, true});
  }

  void loop(const LoopCall& call) {
    const LoopNests* const around = loop_;
    const LoopNests nests{&plan_, &call, position_, depth_, {}};
    // Inside of a loop in all its steps, another one's places are not known: whole buffers.
    loop_ = &nests;
    is_nested_ = around != nullptr;
    for (const Record& inner : call.body) add(inner);
    is_nested_ = false;
    loop_ = around;
  }

  void add(const Address& address, const Extent& extent, bool writes) {
    if (loop_ == nullptr) return add(resolve(address, position_), extent, writes);
    if (is_nested_) return whole_buffers(address, writes);
    const MovingPlace place = moving_place(address, *loop_);
    Extent all = extent;
    all.stretch(place.step, loop_->loop->steps);
    all.stretch(place.slot, 2);
    add(place.base, all, writes);
    if (place.first) add(*place.first, extent, writes);
  }

  void whole_buffers(const Address& address, bool writes) {
    for (const Address* each = &address; each != nullptr; each = each->at_first.get())
      add(BufferPlace{each->buffer, 0}, {0, plan_.buffers[size_t(each->buffer)].bytes}, writes);
  }

  void add(const BufferPlace& place, const Extent& extent, bool writes) {
    if (extent.begin >= extent.end) return;
    const Buffer& buffer = plan_.buffers[size_t(place.buffer)];
    const int space = space_of(plan_, place.buffer);
    const int64_t begin = place.offset + (space == kArenaSpace ? buffer.offset : 0);
    found_.push_back({space, {begin + extent.begin, begin + extent.end}, writes});
  }

  const Plan& plan_;
  const Position& position_;
  const int depth_;
  const LoopNests* loop_ = nullptr;  ///< the loop around, if all of its steps are meant
  bool is_nested_ = false;
  std::vector<Touched> found_;
};

}  // namespace

int parts_used(const NestProgram& program, int operand) {
  int parts = 1;
  for (const NestInstruction& in : program.body) {
    const bool touches =
        in.kind == NestOp::load || in.kind == NestOp::store || in.kind == NestOp::reduce;
    if (touches && in.operand == operand) parts = std::max(parts, in.part + 1);
  }
  return parts;
}

Extent operand_extent(const NestProgram& program, const NestCall& call, size_t i) {
  const NestOperand& form = program.operands[i];
  const CallOperand& operand = call.operands[i];
  const bool reduces = form.kind == OperandKind::reduce_sum || form.kind == OperandKind::reduce_max;
  const bool along_row = reduces && program.kind == NestKind::row_wise;
  const bool over_rows = reduces && !along_row;
  const int64_t size = size_of(form.dtype);
  Extent extent{0, size};
  if (form.by_row && !over_rows) extent.stretch(operand.row, call.rows);
  stretch_around(extent, operand.outer, call);
  if (along_row) return extent;
  extent.stretch(operand.part, parts_used(program, int(i)));
  if (form.column == ColumnStep::contiguous) extent.stretch(size, call.unit);
  if (form.column == ColumnStep::strided) extent.stretch(operand.column, call.unit);
  return extent;
}

Extent left_extent(const NestProgram& program, const NestCall& call, size_t i) {
  const CallProduct& product = call.products[i];
  Extent extent{0, size_of(program.products[i].left)};
  extent.stretch(product.a_row, call.rows);
  extent.stretch(product.a_k, product.panels.k);
  stretch_around(extent, product.outer, call);
  return extent;
}

Extent right_extent(const NestProgram& program, const NestCall& call, size_t i) {
  const CallProduct& product = call.products[i];
  if (product.in_panels) return {0, product.panels.bytes()};
  const NestProduct& form = program.products[i];
  Extent extent{0, size_of(form.right)};
  extent.stretch(product.b_strides.k, product.panels.k);
  extent.stretch(product.b_strides.part, form.parts);
  extent.stretch(product.b_strides.column, call.unit);
  return extent;
}

int space_of(const Plan& plan, int buffer) {
  const Buffer& wanted = plan.buffers[size_t(buffer)];
  if (wanted.place == Place::arena) return kArenaSpace;
  constexpr int kKinds = int(Place::form) + 1;
  const int index = wanted.place == Place::constant ? buffer : wanted.index;
  return index * kKinds + int(wanted.place);
}

std::vector<Touched> touched_by(const Plan& plan, const Record& record, const Position& position,
                                int depth) {
  return TouchedBytes(plan, position, depth).of(record);
}

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/access.h"

#include <algorithm>
#include <utility>

#include "ir/cases.h"

namespace graphc::core {
namespace {

using Visit = std::function<void(const Access&)>;
constexpr AccessMode kRead = AccessMode::read, kWrite = AccessMode::write;

/// Lists the accesses of a nest.
class NestAccesses {
 public:
  NestAccesses(const NestProgram& program, const NestCall& call, const Visit& visit)
      : program_(program), call_(call), visit_(visit) {
    for (const NestInstruction& in : program.body) {
      if (in.kind == NestOp::load || in.kind == NestOp::store || in.kind == NestOp::reduce)
        parts_.emplace_back(in.operand, in.part);
    }
    std::ranges::sort(parts_);
    parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
    is_empty_ = call.rows == 0 || call.unit == 0 || std::ranges::count(call.outer, 0) > 0;
  }

  void list() {
    operands(kRead);
    for (size_t i = 0; i < call_.products.size(); ++i) product(int(i));
    operands(kWrite);
  }

 private:
  void operands(AccessMode mode) {
    for (size_t i = 0; i < call_.operands.size(); ++i) {
      const OperandKind kind = program_.operands[i].kind;
      if (kind == OperandKind::iota || kind == OperandKind::literal) continue;
      if ((kind == OperandKind::load) == (mode == kRead)) operand(int(i), mode);
    }
  }

  void operand(int index, AccessMode mode) {
    const NestOperand& form = program_.operands[size_t(index)];
    const CallOperand& operand = call_.operands[size_t(index)];
    const bool reduces =
        form.kind == OperandKind::reduce_sum || form.kind == OperandKind::reduce_max;
    // Without elements a sum is still written: it is 0 then.
    if (is_empty_ && !reduces) return;
    const bool along_row = reduces && program_.kind == NestKind::row_wise;
    Access access = of(operand.address, mode, Access::Operand::operand, index);
    access.region = Region(size_of(form.dtype));
    if (form.by_row && (along_row || !reduces))
      access.region.along(AxisOf::row, operand.row, call_.rows);
    outer(access.region, operand.outer);
    if (along_row) return emit(access);
    if (form.column == ColumnStep::contiguous)
      access.region.along(AxisOf::column, access.region.bytes, call_.unit);
    if (form.column == ColumnStep::strided)
      access.region.along(AxisOf::column, operand.column, call_.unit);
    runs_of_parts(access, operand.part);
  }

  /// A nest may access some parts of an operand: one gate of four.
  void runs_of_parts(const Access& access, int64_t stride) {
    auto part = std::ranges::lower_bound(parts_, std::pair(access.index, 0));
    while (part != parts_.end() && part->first == access.index) {
      const int first = part->second;
      int count = 0;
      for (; part != parts_.end() && *part == std::pair(access.index, first + count); ++part)
        ++count;
      Access run = access;
      run.region.offset = first * stride;
      run.region.along(AxisOf::part, stride, count);
      emit(run);
    }
  }

  void product(int index) {
    if (is_empty_) return;
    const NestProduct& form = program_.products[size_t(index)];
    const CallProduct& product = call_.products[size_t(index)];
    Access left = of(product.a, kRead, Access::Operand::left, index);
    left.region = Region(size_of(form.left));
    left.region.along(AxisOf::row, product.a_row, call_.rows)
        .along(AxisOf::term, product.a_k, product.panels.k);
    outer(left.region, product.outer);
    Access right = of(product.b, kRead, Access::Operand::right, index);
    right.region = Region(product.in_panels ? product.panels.bytes() : size_of(form.right));
    if (!product.in_panels)
      right.region.along(AxisOf::term, product.b_strides.k, product.panels.k)
          .along(AxisOf::part, product.b_strides.part, form.parts)
          .along(AxisOf::column, product.b_strides.column, call_.unit);
    outer(right.region, product.right_outer);
    left.not_at_first = right.not_at_first = product.zeros_at_first;
    emit(left);
    emit(right);
  }

  static Access of(const Address& address, AccessMode mode, Access::Operand operand, int index) {
    Access access;
    access.address = &address;
    access.mode = mode;
    access.operand = operand;
    access.index = index;
    return access;
  }
  void outer(Region& region, const std::vector<int64_t>& strides) const {
    for (size_t axis = 0; axis < strides.size(); ++axis)
      region.along(axis == 0 ? AxisOf::outermost : AxisOf::outer, strides[axis], call_.outer[axis]);
  }
  void emit(const Access& access) const {
    if (!access.region.is_empty()) visit_(access);
  }

  const NestProgram& program_;
  const NestCall& call_;
  const Visit& visit_;
  std::vector<std::pair<int, int>> parts_;  ///< operand and part, ascending
  bool is_empty_ = false;                   ///< there are no elements
};

void visit_region(const Address& address, AccessMode mode, const Region& region, const Visit& f,
                  int64_t selected = -1) {
  if (address.buffer < 0 || region.is_empty()) return;
  Access access;
  access.address = &address;
  access.mode = mode;
  access.region = region;
  access.selected = selected;
  f(access);
}

void visit_panels(const PanelCall& call, const Visit& f) {
  const PanelForm& form = call.panels;
  Region from(size_of(form.from));
  from.along(AxisOf::term, call.from_strides.k, form.k)
      .along(AxisOf::part, call.from_strides.part, form.parts)
      .along(AxisOf::column, call.from_strides.column, form.unit)
      .along(AxisOf::outer, call.from_matrix, call.matrices);
  visit_region(call.from, kRead, from, f);
  visit_region(call.to, kWrite, Region(call.bytes()), f);
}

void visit_table(const TableCall& call, const Visit& f) {
  const Region indices(call.count * size_of(call.index_dtype));
  visit_region(call.indices, kRead, indices, f);
  if (!call.has_table()) return visit_region(call.rows, kWrite, indices, f);
  const Region table(call.table_rows * call.row_bytes), rows(call.count * call.row_bytes);
  const int64_t selected = std::min(call.count, call.table_rows) * call.row_bytes;
  if (call.op != TableOp::merge_rows) visit_region(call.table, kRead, table, f, selected);
  if (call.op == TableOp::gather) return visit_region(call.rows, kWrite, rows, f);
  visit_region(call.rows, kRead, rows, f);
  visit_region(call.table, kWrite, table, f, selected);
  if (call.op == TableOp::merge_rows)
    visit_region(call.distinct, kWrite, Region(call.count * size_of(call.distinct_dtype)), f);
}

/// What a record accesses by itself.
void visit_own(const Plan& plan, const Record& record, const Visit& f) {
  std::visit(Cases{[&](const NestCall& call) {
                     NestAccesses(plan.programs[size_t(call.program)], call, f).list();
                   },
                   [&](const PanelCall& call) { visit_panels(call, f); },
                   [&](const TableCall& call) { visit_table(call, f); },
                   [&](const ExternCall& call) {
                     for (const ExternOperand& each : call.operands)
                       visit_region(each.address, each.written ? kWrite : kRead, Region(each.bytes),
                                    f);
                   },
                   [&](const LoopCall& loop) {
                     for (const Carry& carry : loop.carries)
                       visit_region(carry.initial, kRead,
                                    Region(carry.elements * size_of(carry.dtype)), f);
                   },
                   [](const BlockCall&) {}},
             record.call);
}

}  // namespace

void Extent::stretch(int64_t stride, int64_t count) {
  if (count <= 1) return;
  const int64_t reach = stride * (count - 1);
  (reach < 0 ? begin : end) += reach;
}

Region& Region::along(AxisOf of, int64_t stride, int64_t count) {
  axes_.at(size_++) = {of, stride, count};
  return *this;
}

const AccessAxis* Region::axis(AxisOf of) const {
  const auto found = std::ranges::find(axes(), of, &AccessAxis::of);
  return found == axes().end() ? nullptr : &*found;
}

bool Region::is_empty() const {
  return bytes == 0 ||
         std::ranges::any_of(axes(), [](const AccessAxis& axis) { return axis.count <= 0; });
}

Extent Region::extent() const {
  if (is_empty()) return {offset, offset};
  Extent extent{offset, offset + bytes};
  for (const AccessAxis& axis : axes()) extent.stretch(axis.stride, axis.count);
  return extent;
}

double Region::size() const {
  double size = double(bytes);
  for (const AccessAxis& axis : axes()) {
    if (axis.stride != 0 || axis.count == 0) size *= double(axis.count);
  }
  return size;
}

std::vector<Access> accesses_of(const Plan& plan, const Record& record) {
  std::vector<Access> all;
  visit_own(plan, record, [&](const Access& access) { all.push_back(access); });
  return all;
}

std::vector<Access> accesses_of(const NestProgram& program, const NestCall& call) {
  std::vector<Access> all;
  NestAccesses(program, call, [&](const Access& access) { all.push_back(access); }).list();
  return all;
}

std::vector<Access> accesses_of(const TableCall& call) {
  std::vector<Access> all;
  visit_table(call, [&](const Access& access) { all.push_back(access); });
  return all;
}

void visit_accesses(const Plan& plan, const Record& record, const Visit& visit) {
  visit_own(plan, record, visit);
  const auto inside = [&](const std::vector<Record>& body) {
    for (const Record& inner : body) visit_accesses(plan, inner, visit);
  };
  if (const auto* loop = std::get_if<LoopCall>(&record.call)) inside(loop->body);
  if (const auto* block = std::get_if<BlockCall>(&record.call)) inside(block->body);
}

}  // namespace graphc::core

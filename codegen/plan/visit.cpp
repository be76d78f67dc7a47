// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/visit.h"

namespace graphc {
namespace {

void visit(const Address& address, const std::function<void(const Address&)>& f) {
  if (address.at_first) visit(*address.at_first, f);
  if (address.buffer >= 0) f(address);
}

/// An address of a first iteration may be shared, so a changed one is a new one.
void visit(Address& address, const std::function<void(Address&)>& f) {
  if (address.at_first) {
    Address first = *address.at_first;
    visit(first, f);
    address.at_first = std::make_shared<const Address>(std::move(first));
  }
  if (address.buffer >= 0) f(address);
}

/// Both walks: `AnyRecord` is Record or const Record, and the addresses are const if it is.
template <typename AnyRecord, typename Visit>
void walk(AnyRecord& record, const Visit& f) {
  if (auto nest = std::get_if<NestCall>(&record.call)) {
    for (auto& operand : nest->operands) visit(operand.address, f);
    for (auto& product : nest->products) {
      visit(product.a, f);
      visit(product.b, f);
    }
  } else if (auto pack = std::get_if<PanelCall>(&record.call)) {
    visit(pack->from, f);
    visit(pack->to, f);
  } else if (auto rows = std::get_if<TableCall>(&record.call)) {
    for (auto* address : {&rows->table, &rows->indices, &rows->rows, &rows->distinct})
      visit(*address, f);
  } else if (auto block = std::get_if<BlockCall>(&record.call)) {
    for (auto& inner : block->body) walk(inner, f);
  } else {
    auto& loop = std::get<LoopCall>(record.call);
    for (auto& carry : loop.carries) visit(carry.initial, f);
    for (auto& inner : loop.body) walk(inner, f);
  }
}

}  // namespace

void visit_addresses(const Record& record, const std::function<void(const Address&)>& visit) {
  walk(record, visit);
}

void change_addresses(Record& record, const std::function<void(Address&)>& change) {
  walk(record, change);
}

namespace {

using VisitAccess = std::function<void(const Address&, Access)>;

void nest_accesses(const NestProgram& program, const NestCall& call, const VisitAccess& f) {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (program.operands[i].kind == OperandKind::load) f(call.operands[i].address, Access::read);
  }
  for (const CallProduct& product : call.products) {
    f(product.a, Access::read);
    f(product.b, Access::read);
  }
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const OperandKind kind = program.operands[i].kind;
    if (kind == OperandKind::store || kind == OperandKind::reduce_sum ||
        kind == OperandKind::reduce_max)
      f(call.operands[i].address, Access::write);
  }
}

void table_accesses(const TableCall& call, const VisitAccess& f) {
  f(call.indices, Access::read);
  if (call.op != TableOp::merge_rows) f(call.table, Access::read);
  if (call.op != TableOp::gather) f(call.rows, Access::read);
  if (call.op == TableOp::gather) return f(call.rows, Access::write);
  f(call.table, Access::write);
  if (call.op == TableOp::merge_rows) f(call.distinct, Access::write);
}

}  // namespace

void visit_accesses(const Plan& plan, const Record& record, const VisitAccess& f) {
  if (auto nest = std::get_if<NestCall>(&record.call)) {
    nest_accesses(plan.programs[size_t(nest->program)], *nest, f);
  } else if (auto pack = std::get_if<PanelCall>(&record.call)) {
    f(pack->from, Access::read);
    f(pack->to, Access::write);
  } else if (auto rows = std::get_if<TableCall>(&record.call)) {
    table_accesses(*rows, f);
  } else if (auto block = std::get_if<BlockCall>(&record.call)) {
    for (const Record& inner : block->body) visit_accesses(plan, inner, f);
  } else {
    const LoopCall& loop = std::get<LoopCall>(record.call);
    for (const Carry& carry : loop.carries) {
      if (carry.initial.buffer >= 0) f(carry.initial, Access::read);
    }
    for (const Record& inner : loop.body) visit_accesses(plan, inner, f);
  }
}

void change_address(Address& address, const std::function<void(Address&)>& change) {
  visit(address, change);
}

void visit_reads(const Address& address, const std::function<void(const Address&)>& f) {
  visit(address, f);
}

const LoopCall* loop_of_phases(const Record& record) {
  const auto* loop = std::get_if<LoopCall>(&record.call);
  return loop != nullptr && !loop->private_rows ? loop : nullptr;
}

namespace {

void visit_phases(const std::vector<Record>& records, int scope, int depth,
                  const std::function<void(const Record&, int, int)>& visit) {
  for (const Record& record : records) {
    if (const LoopCall* loop = loop_of_phases(record)) {
      visit_phases(loop->body, loop->id, depth + 1, visit);
    } else {
      visit(record, scope, depth);
    }
  }
}

}  // namespace

void visit_phases(const std::vector<Record>& records,
                  const std::function<void(const Record&, int scope, int depth)>& visit) {
  visit_phases(records, -1, 0, visit);
}

}  // namespace graphc

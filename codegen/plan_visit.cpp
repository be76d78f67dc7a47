// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan_visit.h"

namespace graphc {
namespace {

void change(Address& address, const std::function<void(Address&)>& f) {
  if (address.at_first) {
    Address first = *address.at_first;
    change(first, f);
    address.at_first = std::make_shared<const Address>(std::move(first));
  }
  if (address.buffer >= 0) f(address);
}

}  // namespace

void change_addresses(Record& record, const std::function<void(Address&)>& f) {
  if (auto nest = std::get_if<NestCall>(&record.call)) {
    for (CallOperand& operand : nest->operands) change(operand.address, f);
    for (CallProduct& product : nest->products) {
      change(product.a, f);
      change(product.b, f);
    }
  } else if (auto pack = std::get_if<PackCall>(&record.call)) {
    change(pack->from, f);
    change(pack->to, f);
  } else if (auto rows = std::get_if<RowsCall>(&record.call)) {
    for (Address* address : {&rows->table, &rows->indices, &rows->rows, &rows->distinct})
      change(*address, f);
  } else if (auto block = std::get_if<BlockCall>(&record.call)) {
    for (Record& inner : block->body) change_addresses(inner, f);
  } else {
    for (Record& inner : std::get<LoopCall>(record.call).body) change_addresses(inner, f);
  }
}

void visit_addresses(const Record& record, const std::function<void(const Address&)>& visit) {
  // One walk serves both: nothing is changed through a copy.
  Record copy = record;
  change_addresses(copy, [&](Address& address) { visit(address); });
}

const LoopCall* loop_of_phases(const Record& record) {
  const auto* loop = std::get_if<LoopCall>(&record.call);
  return loop != nullptr && !loop->private_rows ? loop : nullptr;
}

namespace {

void visit_phases(const std::vector<Record>& records, int scope,
                  const std::function<void(const Record&, int)>& visit) {
  for (const Record& record : records) {
    if (const LoopCall* loop = loop_of_phases(record)) {
      visit_phases(loop->body, loop->id, visit);
    } else {
      visit(record, scope);
    }
  }
}

}  // namespace

void visit_phases(const std::vector<Record>& records,
                  const std::function<void(const Record&, int scope)>& visit) {
  visit_phases(records, -1, visit);
}

}  // namespace graphc

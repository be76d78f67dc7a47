// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan_visit.h"

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
  } else if (auto pack = std::get_if<PackCall>(&record.call)) {
    visit(pack->from, f);
    visit(pack->to, f);
  } else if (auto rows = std::get_if<RowsCall>(&record.call)) {
    for (auto* address : {&rows->table, &rows->indices, &rows->rows, &rows->distinct})
      visit(*address, f);
  } else if (auto block = std::get_if<BlockCall>(&record.call)) {
    for (auto& inner : block->body) walk(inner, f);
  } else {
    for (auto& inner : std::get<LoopCall>(record.call).body) walk(inner, f);
  }
}

}  // namespace

void visit_addresses(const Record& record, const std::function<void(const Address&)>& visit) {
  walk(record, visit);
}

void change_addresses(Record& record, const std::function<void(Address&)>& change) {
  walk(record, change);
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

// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/visit.h"

#include <type_traits>

#include "ir/cases.h"
#include "ir/error.h"

namespace graphc::core {
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
  // The parameters are deduced: calls are const where the record is.
  const auto nest = [&](auto& call) {
    for (auto& operand : call.operands) visit(operand.address, f);
    for (auto& product : call.products) {
      visit(product.a, f);
      visit(product.b, f);
    }
  };
  const auto each = [&](auto& call) {
    using Call = std::remove_const_t<std::remove_reference_t<decltype(call)>>;
    if constexpr (std::is_same_v<Call, NestCall>) {
      nest(call);
    } else if constexpr (std::is_same_v<Call, PanelCall>) {
      visit(call.from, f);
      visit(call.to, f);
    } else if constexpr (std::is_same_v<Call, TableCall>) {
      for (auto* address : {&call.table, &call.indices, &call.rows, &call.distinct})
        visit(*address, f);
    } else if constexpr (std::is_same_v<Call, ExternCall>) {
      for (auto& operand : call.operands) visit(operand.address, f);
    } else if constexpr (std::is_same_v<Call, BlockCall>) {
      for (auto& inner : call.body) walk(inner, f);
    } else {
      static_assert(std::is_same_v<Call, LoopCall>);
      for (auto& carry : call.carries) visit(carry.initial, f);
      for (auto& inner : call.body) walk(inner, f);
    }
  };
  std::visit(each, record.call);
}

}  // namespace

void visit_addresses(const Record& record, const std::function<void(const Address&)>& visit) {
  walk(record, visit);
}

void change_addresses(Record& record, const std::function<void(Address&)>& change) {
  walk(record, change);
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

void visit_phases(const std::vector<Record>& records, const PhaseRecord& around,
                  const std::function<void(const PhaseRecord&)>& visit) {
  for (const Record& record : records) {
    PhaseRecord at = around;
    at.record = &record;
    if (const LoopCall* loop = loop_of_phases(record)) {
      at.outer_scope = around.scope;
      at.scope = loop->id;
      at.depth = around.depth + 1;
      at.is_only = loop->body.size() == 1;
      visit_phases(loop->body, at, visit);
    } else {
      visit(at);
    }
  }
}

/// Counts phases up to a loop, and those of it; returns whether it was found.
bool count_phases(const std::vector<Record>& records, const LoopCall& wanted, int& before,
                  int& inside) {
  for (const Record& record : records) {
    const LoopCall* loop = loop_of_phases(record);
    if (loop == &wanted) {
      visit_phases(loop->body, {}, [&](const PhaseRecord&) { ++inside; });
      return true;
    }
    if (loop == nullptr) {
      ++before;
    } else if (count_phases(loop->body, wanted, before, inside)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void visit_phases(const std::vector<Record>& records,
                  const std::function<void(const PhaseRecord&)>& visit) {
  visit_phases(records, {}, visit);
}

std::pair<int, int> phases_of(const Plan& plan, const LoopCall& loop) {
  int before = 0, inside = 0;
  const bool is_found = count_phases(plan.records, loop, before, inside);
  GRAPHC_CHECK(is_found, "%{} is no loop of the plan", loop.name);
  return {before, before + inside - 1};
}

}  // namespace graphc::core

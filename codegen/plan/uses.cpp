// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/uses.h"

#include <algorithm>
#include <tuple>

#include "codegen/step/visit.h"

namespace graphc::core {

Uses::Uses(const Plan& plan) : plan_(plan), uses_(plan.buffers.size()) {
  find_loops(plan.records);
  phase_ = 0;
  visit(plan.records);
}

void Uses::merge(int from, int into) {
  std::vector<Use>&a = uses_[size_t(into)], &b = uses_[size_t(from)];
  const auto middle = a.insert(a.end(), b.begin(), b.end());
  std::inplace_merge(a.begin(), middle, a.end(),
                     [](const Use& x, const Use& y) { return x.first < y.first; });
  b.clear();
}

void Uses::find_loops(const std::vector<Record>& records) {
  for (const Record& record : records) {
    const LoopCall* loop = loop_of_phases(record);
    if (loop == nullptr) {
      ++phase_;
      continue;
    }
    const int first = phase_;
    find_loops(loop->body);
    loops_[&record] = {first, phase_ - 1};
  }
}

void Uses::visit(const std::vector<Record>& records) {
  for (const Record& record : records) {
    const LoopCall* loop = loop_of_phases(record);
    if (loop == nullptr) {
      visit_accesses(plan_, record, [&](const Access& access) {
        visit_reads(*access.address, [&](const Address& each) { add(each, access.mode, record); });
      });
      ++phase_;
      continue;
    }
    around_.push_back(&record);
    for (const Carry& carry : loop->carries) {
      visit_reads(carry.initial,
                  [&](const Address& address) { add(address, AccessMode::read, record); });
    }
    visit(loop->body);
    around_.pop_back();
  }
}

void Uses::add(const Address& address, AccessMode mode, const Record& record) {
  const int scope = plan_.buffers[size_t(address.buffer)].scope;
  // The loop in whose steps the buffer lives. A buffer that lives outside of all loops, or in a
  // loop that is already past, is seen from outside.
  const auto home = std::ranges::find_if(
      around_, [&](const Record* loop) { return std::get<LoopCall>(loop->call).id == scope; });
  const auto further_inside = home == around_.end() ? around_.begin() : home + 1;
  Use use{phase_, phase_, &record, int(around_.size()), mode};
  if (further_inside != around_.end()) {
    use.record = *further_inside;
    std::tie(use.first, use.last) = loops_.at(use.record);
    use.depth = int(further_inside - around_.begin());
  }
  uses_[size_t(address.buffer)].push_back(use);
}

}  // namespace graphc::core

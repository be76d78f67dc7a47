// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/buffer_phases.h"

#include <algorithm>
#include <utility>

#include "codegen/step/visit.h"

namespace graphc::core {

int BufferPhases::run(const Plan& plan) {
  for (const Record& record : plan.records) visit(plan, record);
  return phase_;
}

void BufferPhases::visit(const Plan& plan, const Record& record) {
  const LoopCall* loop = loop_of_phases(record);
  if (loop == nullptr) {
    visit_addresses(record, [&](const Address& address) {
      in_phase(address.buffer, phase_);
      note(address.buffer, plan.buffers[size_t(address.buffer)].scope);
      if (!around_.empty()) around_.back().seen.insert(address.buffer);
    });
    ++phase_;
    return;
  }
  const int first = phase_;
  around_.push_back({.id = loop->id, .matrices = loop->matrices, .scopes = {loop->id}});
  for (const Record& inner : loop->body) visit(plan, inner);
  for (int buffer : around_.back().buffers) in_loop(buffer, *loop, first, phase_ - 1);
  Around done = std::move(around_.back());
  around_.pop_back();
  if (std::ranges::any_of(around_, &Around::matrices)) {
    around_.back().seen.merge(done.seen);
    around_.back().scopes.merge(done.scopes);
  } else if (loop->matrices) {
    for (const int buffer : done.seen) {
      if (done.scopes.contains(plan.buffers[size_t(buffer)].scope))
        in_loop(buffer, *loop, first, phase_ - 1);
    }
  }
}

/// Finds the outermost loop whose steps do not create the buffer anew: the one just inside its
/// scope.
void BufferPhases::note(int buffer, int scope) {
  size_t depth = around_.size();
  while (depth > 0 && around_[depth - 1].id != scope) --depth;
  if (depth < around_.size()) around_[depth].buffers.insert(buffer);
}

}  // namespace graphc::core

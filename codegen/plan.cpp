// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of a plan's buffers.
#include "codegen/plan.h"

#include <algorithm>
#include <set>

#include "codegen/arena_places.h"
#include "codegen/plan_visit.h"
#include "codegen/sharing.h"

namespace graphc {
namespace {

/// Sets first and last phases, and stretches those of what a loop does not make anew in each step
/// over the whole loop.
class Lifetimes {
 public:
  explicit Lifetimes(Plan& plan) : plan_(plan) {
    for (const Record& record : plan.records) visit(record);
  }

  int phases() const { return phase_; }

 private:
  void visit(const Record& record) {
    const LoopCall* loop = loop_of_phases(record);
    if (loop == nullptr) {
      visit_addresses(record,
                      [&](const Address& address) { touch(address.buffer, phase_, phase_); });
      ++phase_;
      return;
    }
    const int begin = phase_;
    for (const Record& inner : loop->body) visit(inner);
    inside_.insert(loop->id);
    visit_addresses(record, [&](const Address& address) {
      if (!inside_.contains(plan_.buffers[size_t(address.buffer)].scope))
        touch(address.buffer, begin, phase_ - 1);
    });
  }

  void touch(int index, int first, int last) {
    Buffer& buffer = plan_.buffers[size_t(index)];
    if (buffer.first_phase < 0 || first < buffer.first_phase) buffer.first_phase = first;
    buffer.last_phase = std::max(buffer.last_phase, last);
  }

  Plan& plan_;
  int phase_ = 0;
  std::set<int> inside_;  ///< loops gone through: those around the present one are not among them
};

}  // namespace

void plan_memory(Plan& plan) {
  share_places(plan);
  plan.phases = Lifetimes(plan).phases();
  overwrite(plan);
  std::vector<size_t> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (is_in_arena(plan.buffers[i])) order.push_back(i);
  }
  // The largest first, each in the lowest gap among those it lives with.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return plan.buffers[a].bytes > plan.buffers[b].bytes;
  });
  std::vector<size_t> placed;
  for (size_t index : order) {
    Buffer& buffer = plan.buffers[index];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed) {
      const Buffer& b = plan.buffers[other];
      if (live_together(buffer, b)) taken.emplace_back(b.offset, b.offset + arena_room(b));
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= arena_room(buffer)) break;
      offset = std::max(offset, end);
    }
    buffer.offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + arena_room(buffer));
    placed.push_back(index);
  }
}

}  // namespace graphc

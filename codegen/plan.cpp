// SPDX-License-Identifier: Apache-2.0
// Lifetimes and offsets of a plan's buffers, their verification, and the plan as text.
#include "codegen/plan.h"

#include <algorithm>
#include <functional>
#include <set>

#include "codegen/plan_visit.h"
#include "ir/mutant.h"

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

bool alive_together(const Buffer& a, const Buffer& b) {
  const int early = mutated(Mutant::buffer_reused_early) ? 1 : 0;
  return a.first_phase <= b.last_phase - early && b.first_phase <= a.last_phase - early;
}

bool in_arena(const Buffer& buffer) {
  return buffer.place == Place::arena && buffer.first_phase >= 0;
}

constexpr int64_t kAlignment = 64;
/// Reads of whole vectors may pass the end of what they need.
constexpr int64_t kSlack = 64;

int64_t room(const Buffer& buffer) {
  return (buffer.bytes + kSlack + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void plan_memory(Plan& plan) {
  plan.phases = Lifetimes(plan).phases();
  overwrite(plan);
  std::vector<size_t> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (in_arena(plan.buffers[i])) order.push_back(i);
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
      if (alive_together(buffer, b)) taken.emplace_back(b.offset, b.offset + room(b));
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - offset >= room(buffer)) break;
      offset = std::max(offset, end);
    }
    buffer.offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + room(buffer));
    placed.push_back(index);
  }
}

namespace {

/// What a step of a loop finds from before it lives as long as the loop.
void verify_loops(const Plan& plan, const std::vector<Record>& records) {
  int phase = 0;
  std::function<void(const Record&, std::set<int>&)> visit = [&](const Record& record,
                                                                 std::set<int>& inside) {
    const LoopCall* loop = loop_of_phases(record);
    if (loop == nullptr) {
      ++phase;
      return;
    }
    const int begin = phase;
    std::set<int> loops{loop->id};
    for (const Record& inner : loop->body) visit(inner, loops);
    visit_addresses(record, [&](const Address& address) {
      const Buffer& buffer = plan.buffers[size_t(address.buffer)];
      if (buffer.place != Place::arena || loops.contains(buffer.scope)) return;
      GRAPHC_CHECK(buffer.first_phase <= begin && phase - 1 <= buffer.last_phase,
                   "%{} lives for phases {}..{}, not for all of loop %{}, {}..{}", buffer.name,
                   buffer.first_phase, buffer.last_phase, loop->name, begin, phase - 1);
    });
    inside.merge(loops);
  };
  std::set<int> all;
  for (const Record& record : records) visit(record, all);
}

}  // namespace

void verify_plan(const Plan& plan) {
  int phase = 0;
  visit_phases(plan.records, [&](const Record& record, int) {
    visit_addresses(record, [&](const Address& address) {
      const Buffer& buffer = plan.buffers[size_t(address.buffer)];
      GRAPHC_CHECK(buffer.place != Place::arena ||
                       (buffer.first_phase <= phase && phase <= buffer.last_phase),
                   "phase {} uses %{} outside its lifetime {}..{}", phase, buffer.name,
                   buffer.first_phase, buffer.last_phase);
    });
    ++phase;
  });
  verify_loops(plan, plan.records);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& a = plan.buffers[i];
    if (!in_arena(a)) continue;
    GRAPHC_CHECK(
        a.offset >= 0 && a.offset % kAlignment == 0 && a.offset + room(a) <= plan.arena_bytes,
        "%{} at {} lies outside the arena of {} bytes", a.name, a.offset, plan.arena_bytes);
    for (size_t j = i + 1; j < plan.buffers.size(); ++j) {
      const Buffer& b = plan.buffers[j];
      if (!in_arena(b) || !alive_together(a, b)) continue;
      GRAPHC_CHECK(a.offset + room(a) <= b.offset || b.offset + room(b) <= a.offset,
                   "%{} and %{} overlap while both live", a.name, b.name);
    }
  }
}

}  // namespace graphc

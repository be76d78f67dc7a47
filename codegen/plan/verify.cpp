// SPDX-License-Identifier: Apache-2.0
// Verifies a plan: lifetimes and offsets and, by a replay on buffers, which value is in which
// place.
//
// Every address names the value it denotes (Address::value) and the place that planning assigned. A
// place holds the value last written to it, so a read must find the value it names. Loops are
// replayed twice: a value that a step reads, and whose address does not advance with the steps,
// must have survived the previous step. Single elements are left to replay tests.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "codegen/plan/arena_places.h"
#include "codegen/plan/buffer_phases.h"
#include "codegen/plan/memory.h"
#include "codegen/step/access.h"
#include "codegen/step/plan.h"
#include "codegen/step/visit.h"
#include "ir/error.h"

namespace graphc::core {
namespace {

class Replay {
 public:
  explicit Replay(const Plan& plan)
      : plan_(plan),
        held_(plan.buffers.size()),
        place_of_(plan.buffers.size(), -1),
        two_places_(plan.buffers.size(), false),
        round_(size_t(plan.loop_depth), 0) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Place place = plan.buffers[i].place;
      if (place != Place::arena && place != Place::output) hold(int(i), int(i));
    }
    for (const Record& record : plan.records) {
      visit_addresses(record, [&](const Address& address) {
        for (const Address::Term& term : address.terms) {
          if (term.parity != 0) two_places_[size_t(address.buffer)] = true;
        }
      });
    }
    for (const RemovedCopy& copy : plan.removed) removed_[copy.scope].push_back(copy);
  }

  void run() { visit(plan_.records, -1); }

 private:
  void visit(const std::vector<Record>& records, int scope) {
    const auto found = removed_.find(scope);
    size_t next = 0;
    const auto rename_before = [&](int id) {
      if (found == removed_.end()) return;
      for (; next < found->second.size() && found->second[next].id < id; ++next)
        rename(found->second[next]);
    };
    for (const Record& record : records) {
      if (record.id >= 0) rename_before(record.id);
      const auto* loop = std::get_if<LoopCall>(&record.call);
      loop == nullptr ? visit_call(record) : visit_loop(*loop);
    }
    rename_before(std::numeric_limits<int>::max());
  }

  void visit_loop(const LoopCall& loop) {
    const size_t depth = size_t(depth_++);
    for (int& round = round_[depth] = 0; round < std::min<int64_t>(loop.steps, 2); ++round) {
      for (const Carry& carry : loop.carries) begin_step(carry);
      // Copies removed inside a loop without phases were never phases of their own.
      visit(loop.body, loop.private_rows ? -2 : loop.id);
    }
    round_[depth] = 0;
    --depth_;
  }

  void visit_call(const Record& record) {
    visit_accesses(plan_, record, [&](const Access& access) {
      const Address& address = *access.address;
      if (access.writes()) {
        if (!is_past(address)) hold(address.buffer, address.value);
        return;
      }
      const Address* found = &address;
      while (found->at_first && round_[size_t(found->first_loop)] == 0)
        found = found->at_first.get();
      if (!is_past(*found)) expect(*found);
    });
  }

  /// In the second round of a loop, addresses that advance with its steps were checked in the
  /// first.
  bool is_past(const Address& address) const {
    return std::ranges::any_of(address.terms, [&](const Address::Term& term) {
      return term.step != 0 && round_[size_t(term.loop)] > 0;
    });
  }

  void hold(int place, int value) {
    held_[size_t(place)] = {value};
    place_of_[size_t(value)] = place;
  }

  bool holds(int place, int value) const {
    return two_places_[size_t(place)] || held_[size_t(place)].contains(value);
  }

  void expect(const Address& address) const {
    const Buffer& place = plan_.buffers[size_t(address.buffer)];
    if (place.bytes == 0 || holds(address.buffer, address.value)) return;
    const std::set<int>& held = held_[size_t(address.buffer)];
    GRAPHC_CHECK(false, "a record reads %{} in the place of %{}, which holds {}",
                 name_of(address.value), place.name,
                 held.empty() ? "nothing" : "%" + name_of(*held.begin()));
  }

  std::string name_of(int value) const { return plan_.buffers[size_t(value)].name; }

  /// The value that the previous step left as `next` is this step's `now`.
  void begin_step(const Carry& carry) {
    const int place = place_of_[size_t(carry.next)];
    if (place >= 0 && held_[size_t(place)].contains(carry.next))
      held_[size_t(place)].insert(carry.now);
  }

  /// A copy that was removed: from here on both values are in one place.
  void rename(const RemovedCopy& copy) {
    const int place = place_of_[size_t(copy.from)];
    GRAPHC_CHECK(place >= 0 && holds(place, copy.from),
                 "%{} stands for %{}, which is no longer in its place", name_of(copy.to),
                 name_of(copy.from));
    held_[size_t(place)].insert(copy.to);
    place_of_[size_t(copy.to)] = place;
  }

  const Plan& plan_;
  std::vector<std::set<int>> held_;                  ///< by place: the values it holds
  std::vector<int> place_of_;                        ///< by value: its latest place
  std::vector<bool> two_places_;                     ///< of a carry: `now` and `next` swap roles
  std::map<int, std::vector<RemovedCopy>> removed_;  ///< by scope
  std::vector<int> round_;                           ///< of the enclosing loops, by depth
  int depth_ = 0;
};
void verify_lifetimes(const Plan& plan) {
  BufferPhases uses;
  uses.in_phase = [&](int index, int phase) {
    const Buffer& buffer = plan.buffers[size_t(index)];
    GRAPHC_CHECK(
        buffer.place != Place::arena || (buffer.first_phase <= phase && phase <= buffer.last_phase),
        "phase {} uses %{} outside its lifetime {}..{}", phase, buffer.name, buffer.first_phase,
        buffer.last_phase);
  };
  uses.in_loop = [&](int index, const LoopCall& loop, int first, int last) {
    const Buffer& buffer = plan.buffers[size_t(index)];
    GRAPHC_CHECK(
        buffer.place != Place::arena || (buffer.first_phase <= first && last <= buffer.last_phase),
        "%{} lives for phases {}..{}, not for all of loop %{}, {}..{}", buffer.name,
        buffer.first_phase, buffer.last_phase, loop.name, first, last);
  };
  uses.run(plan);
}

/// Checks that no two buffers that are live at once overlap: each new buffer against its neighbours
/// by offset among those alive.
void verify_places(const Plan& plan) {
  std::vector<int> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& a = plan.buffers[i];
    if (!is_in_arena(a)) continue;
    GRAPHC_CHECK(a.offset >= 0 && a.offset % kArenaAlignment == 0 &&
                     a.offset + arena_room(a) <= plan.arena_bytes,
                 "%{} at {} lies outside the arena of {} bytes", a.name, a.offset,
                 plan.arena_bytes);
    order.push_back(int(i));
  }
  const auto at = [&](int index) -> const Buffer& { return plan.buffers[size_t(index)]; };
  std::ranges::stable_sort(order, {}, [&](int index) { return at(index).first_phase; });
  std::set<std::pair<int, int>> ends;       // last phase, buffer
  std::set<std::pair<int64_t, int>> alive;  // offset, buffer
  const auto check = [&](const Buffer& a, const Buffer& b) {
    GRAPHC_CHECK(!live_together(a, b) || a.offset + arena_room(a) <= b.offset ||
                     b.offset + arena_room(b) <= a.offset,
                 "%{} and %{} overlap while both live", a.name, b.name);
  };
  for (int index : order) {
    const Buffer& buffer = at(index);
    while (!ends.empty() && ends.begin()->first < buffer.first_phase) {
      alive.erase({at(ends.begin()->second).offset, ends.begin()->second});
      ends.erase(ends.begin());
    }
    const auto place = alive.emplace(buffer.offset, index).first;
    if (place != alive.begin()) check(at(std::prev(place)->second), buffer);
    if (std::next(place) != alive.end()) check(buffer, at(std::next(place)->second));
    ends.emplace(buffer.last_phase, index);
  }
}

}  // namespace

void verify_plan(const Plan& plan) {
  verify_lifetimes(plan);
  verify_places(plan);
  Replay(plan).run();
}

}  // namespace graphc::core

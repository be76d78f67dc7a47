// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/sharing.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/plan/carries.h"
#include "codegen/plan/in_place.h"
#include "codegen/plan/moves.h"
#include "codegen/plan/uses.h"
#include "codegen/step/visit.h"
#include "ir/cases.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// Maps a buffer to the one whose place it now has; buffers that share a place form a set.
class Places {
 public:
  explicit Places(size_t buffers) : into_(buffers) { std::iota(into_.begin(), into_.end(), 0); }

  int of(int buffer) {
    while (into_[size_t(buffer)] != buffer)
      buffer = into_[size_t(buffer)] = into_[size_t(into_[size_t(buffer)])];
    return buffer;
  }
  void join(int from, int into) { into_[size_t(of(from))] = of(into); }

  /// Rewrites the addresses of the plan to the shared places.
  void apply(Plan& plan) {
    for (Record& record : plan.records) {
      change_addresses(record, [&](Address& address) { address.buffer = of(address.buffer); });
    }
  }

 private:
  std::vector<int> into_;
};

/// Removes copies of whole buffers: readers use the source instead, or the value is computed
/// directly in the destination.
class CopyRemoval {
 public:
  explicit CopyRemoval(Plan& plan) : plan_(plan), uses_(plan), places_(plan.buffers.size()) {}

  void run() {
    visit(plan_.records, -1);
    // Other copies may by now have become copies of a place to itself.
    visit(plan_.records, -1);
    if (removed_.empty()) return;
    std::ranges::stable_sort(plan_.removed, {}, &RemovedCopy::id);
    places_.apply(plan_);
    erase(plan_.records);
  }

 private:
  void visit(const std::vector<Record>& records, int scope) {
    for (size_t i = 0; i < records.size(); ++i) {
      const Record& record = records[i];
      if (const LoopCall* loop = loop_of_phases(record)) {
        visit(loop->body, loop->id);
      } else if (const std::optional<WholeCopy> copy = whole_copy(plan_, record);
                 copy && !removed_.contains(&record)) {
        const int from = places_.of(copy->from.buffer), to = places_.of(copy->to.buffer);
        if (from != to && !goes_on_in(from, to, record, scope) &&
            (scope != -1 || !is_made_in(from, to, record)))
          continue;
        plan_.removed.push_back({copy->from.value, copy->to.value, id_at(records, i), scope});
        remove(record, from, to);
      }
    }
  }

  /// The position of a record in the order of ids; for a copy that planning added, just before the
  /// next.
  static int id_at(const std::vector<Record>& records, size_t i) {
    if (records[i].id >= 0) return records[i].id;
    while (records[i].id < 0) ++i;
    return records[i].id - 1;
  }

  bool is_in_arena(int buffer, int scope) const {
    const Buffer& b = plan_.buffers[size_t(buffer)];
    return b.place == Place::arena && b.scope == scope;
  }

  /// Whether `to` may take the place of `from`: no use of `from` follows the copy, and none of `to`
  /// precedes it.
  bool goes_on_in(int from, int to, const Record& copy, int scope) {
    if (!is_in_arena(from, scope) || !is_in_arena(to, scope)) return false;
    const Use& here = use_by(from, copy);
    const bool from_dies = std::ranges::all_of(
        uses_.of(from), [&](const Use& use) { return use.before(here) || use.record == &copy; });
    const bool to_begins = std::ranges::all_of(
        uses_.of(to), [&](const Use& use) { return here.before(use) || use.record == &copy; });
    if (!from_dies || !to_begins) return false;
    kept_ = from;
    return true;
  }

  /// Whether `from` may be computed directly in the state `to`, by the rule. Not for a copy in the
  /// steps of a loop, whose uses count as the loop's.
  bool is_made_in(int from, int to, const Record& copy) {
    if (!is_in_arena(from, -1) || plan_.buffers[size_t(to)].place != Place::state) return false;
    const std::vector<Use>& made = uses_.of(from);
    const Use& first = made.front();
    const Use& here = use_by(from, copy);
    for (const Use& use : made) {
      if (use.mode == AccessMode::write && !use.before(here)) return false;
    }
    bool in_record = false;
    for (const Use& use : uses_.of(to)) {
      if (use.record == &copy || use.before(first)) continue;
      if (mutated(Mutant::state_overwritten_early) && use.mode == AccessMode::read) continue;
      if (use.record != first.record || use.mode == AccessMode::write) return false;
      in_record = true;
    }
    if (in_record && (loop_of_phases(*first.record) != nullptr || !in_place(first, from, to)))
      return false;
    kept_ = to;
    return true;
  }

  bool in_place(const Use& use, int result, int operand) {
    return replaces_in_place(plan_, *use.record, use.depth, result, operand,
                             [&](int buffer) { return places_.of(buffer); });
  }

  const Use& use_by(int buffer, const Record& record) const {
    return *std::ranges::find_if(uses_.of(buffer),
                                 [&](const Use& use) { return use.record == &record; });
  }

  void remove(const Record& copy, int from, int to) {
    removed_.insert(&copy);
    if (from == to) return;
    const int gone = kept_ == from ? to : from;
    places_.join(gone, kept_);
    uses_.merge(gone, kept_);
    std::string& name = plan_.buffers[size_t(kept_)].name;
    if (plan_.buffers[size_t(kept_)].place == Place::arena)
      name += "/" + plan_.buffers[size_t(gone)].name;
  }

  void erase(std::vector<Record>& records) {
    size_t kept = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      if (removed_.contains(&records[i])) continue;
      if (loop_of_phases(records[i]) != nullptr) erase(std::get<LoopCall>(records[i].call).body);
      if (kept != i) records[kept] = std::move(records[i]);
      ++kept;
    }
    records.resize(kept);
  }

  Plan& plan_;
  Uses uses_;
  Places places_;
  std::unordered_set<const Record*> removed_;
  int kept_ = -1;  ///< the place that both have after the copy being examined
};

/// Removes programs that no record calls any more, so that they are not compiled.
void drop_programs(Plan& plan) {
  std::vector<int> index(plan.programs.size(), -1);
  const auto each = [&](const auto& self, std::vector<Record>& records, const auto& use) -> void {
    for (Record& record : records) {
      std::visit(
          Cases{[&](NestCall& call) { use(call.program); }, [](PanelCall&) {}, [](TableCall&) {},
                [](ExternCall&) {}, [&](LoopCall& loop) { self(self, loop.body, use); },
                [&](BlockCall& block) { self(self, block.body, use); }},
          record.call);
    }
  };
  const auto all = [&](const auto& use) {
    for (PlanForm& form : plan.forms) each(each, form.make, use);
    each(each, plan.records, use);
  };
  all([&](int program) { index[size_t(program)] = 0; });
  size_t kept = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0) continue;
    if (kept != i) plan.programs[kept] = std::move(plan.programs[i]);
    index[i] = int(kept++);
  }
  plan.programs.resize(kept);
  all([&](int& program) { program = index[size_t(program)]; });
}

/// Sets the value that each address denotes, whatever place the value gets later.
void name_values(Plan& plan) {
  const auto name = [](Address& address) { address.value = address.buffer; };
  for (Record& record : plan.records) change_addresses(record, name);
  for (PlanForm& form : plan.forms) {
    for (Record& record : form.make) change_addresses(record, name);
  }
}

}  // namespace

void share_places(Plan& plan) {
  name_values(plan);
  place_carries(plan);
  CopyRemoval(plan).run();
  drop_programs(plan);
}

void overwrite(Plan& plan) {
  // Buffers by the phases in which they begin and end, so that a long plan is visited only once.
  std::vector<std::vector<int>> beginning(size_t(plan.phases)), ending(size_t(plan.phases));
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.place != Place::arena || buffer.first_phase < 0) continue;
    beginning[size_t(buffer.first_phase)].push_back(int(i));
    ending[size_t(buffer.last_phase)].push_back(int(i));
  }
  // Results that die first come first: a record's own temporaries, whose places its other results
  // may take in turn.
  const auto last_phase = [&](int buffer) { return plan.buffers[size_t(buffer)].last_phase; };
  for (std::vector<int>& results : beginning) std::ranges::stable_sort(results, {}, last_phase);
  Places places(plan.buffers.size());
  const auto place_of = [&](int buffer) { return places.of(buffer); };
  const auto take_place = [&](int result, int operand) {
    Buffer &r = plan.buffers[size_t(result)], &o = plan.buffers[size_t(operand)];
    places.join(result, operand);
    ending[size_t(r.last_phase)].push_back(operand);
    o.last_phase = r.last_phase;
    o.name += "/" + r.name;
    r.first_phase = r.last_phase = -1;
  };
  int phase = 0;
  visit_phases(plan.records, [&](const PhaseRecord& at) {
    for (int result : beginning[size_t(phase)]) {
      for (int operand : ending[size_t(phase)]) {
        const Buffer &r = plan.buffers[size_t(result)], &o = plan.buffers[size_t(operand)];
        // A buffer that a loop does not create anew in each step is needed in the next step. But if
        // the loop is a single record and the buffer lives outside it, each step may have elements
        // of its own.
        const bool of_steps = r.scope != at.scope && at.is_only && r.scope == at.outer_scope;
        if ((r.scope != at.scope && !of_steps) || o.scope != r.scope) continue;
        // Already taken by another result, or the result itself.
        if (o.last_phase != phase || operand == result || r.bytes != o.bytes) continue;
        const StepsOf steps = of_steps ? StepsOf::loop_around : StepsOf::own_loop;
        if (!replaces_in_place(plan, *at.record, at.depth, result, operand, place_of, steps))
          continue;
        take_place(result, operand);
        break;
      }
    }
    ++phase;
  });
  places.apply(plan);
}

}  // namespace graphc::core

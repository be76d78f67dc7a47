// SPDX-License-Identifier: Apache-2.0
// The records are gone through in the order in which they run, with the barriers found so far. Of a
// loop some iterations do: how an access moves is the same from one to the next, but for the first,
// which may find carries elsewhere, for the parity of slots, and for the last, which may leave
// records out.
#include "codegen/step/barriers.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "codegen/step/footprint.h"
#include "codegen/step/visit.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// An access and the bytes of each worker's part of it.
class SharedAccess {
 public:
  SharedAccess(const Plan& plan, int workers, Ownership ownership, PlacedAccess access)
      : access_(std::move(access)),
        memory_(access_.place.buffer),
        workers_(workers),
        ownership_(ownership) {
    if (memory_ >= 0) {
      const Buffer& buffer = plan.buffers[size_t(memory_)];
      if (buffer.place == Place::arena) access_.place.offset += buffer.offset;
      memory_ = memory_of(plan, memory_);
    }
    whole_ = access_.extent();
    if (access_.shared_axis < 0) return;
    rest_ = {access_.place.offset, access_.place.offset + access_.bytes};
    periods_.push_back(shared().stride * shared().count);
    for (size_t i = 0; i < access_.axes.size(); ++i) {
      const AccessAxis& axis = access_.axes[i];
      if (int(i) == access_.shared_axis) continue;
      rest_.stretch(axis.stride, axis.count);
      if (std::abs(axis.stride) > periods_[0]) periods_.push_back(std::abs(axis.stride));
    }
  }

  /// Whether a worker accesses what another one writes in the other access.
  bool crosses(const SharedAccess& other) const {
    if (memory_ != other.memory_ || !(access_.writes() || other.access_.writes()) ||
        !overlap(whole_, other.whole_))
      return false;
    if (is_apart(other, periods_) || is_apart(other, other.periods_)) return false;
    return ownership_ == Ownership::indices || any_pair([&](int a, int b) {
             const std::optional<Extent> mine = bytes(a), theirs = other.bytes(b);
             return mine && theirs && overlap(*mine, *theirs);
           });
  }

 private:
  const AccessAxis& shared() const { return access_.axes[size_t(access_.shared_axis)]; }

  template <typename Crosses>
  bool any_pair(const Crosses& crosses) const {
    for (int a = 0; a < workers_; ++a) {
      for (int b = 0; b < workers_; ++b) {
        if (a != b && crosses(a, b)) return true;
      }
    }
    return false;
  }

  /// Whether the workers' bytes lie at residues of their own, for one of the periods.
  bool is_apart(const SharedAccess& other, const std::vector<int64_t>& periods) const {
    return std::ranges::any_of(periods, [&](int64_t period) {
      const std::optional<Extent> mine = first_residues(period);
      const std::optional<Extent> theirs = mine ? other.first_residues(period) : std::nullopt;
      if (!theirs) return false;
      if (ownership_ == Ownership::indices)
        return mine->begin == theirs->begin && is_shared_alike(other);
      return !any_pair([&](int a, int b) {
        const std::optional<Extent> x = part_of(*mine, a), y = other.part_of(*theirs, b);
        return x && y && overlap_in_period(*x, *y, period);
      });
    });
  }

  /// Whether equal indices are of equal shares. Those of rows and of an axis around them are alike;
  /// columns are shared out otherwise.
  bool is_shared_alike(const SharedAccess& other) const {
    const bool columns = access_.share.along == Along::columns;
    return columns == (other.access_.share.along == Along::columns) &&
           access_.share.extent == other.access_.share.extent &&
           access_.share.grain == other.access_.share.grain &&
           shared().stride == other.shared().stride;
  }

  /// The residues of the first of what is shared out, modulo the period, if each worker's part has
  /// residues of its own: all other axes move by whole periods, or stay inside one of what is
  /// shared out. The period is what is shared out, or an axis around it, whose steps may have space
  /// between them.
  std::optional<Extent> first_residues(int64_t period) const {
    if (access_.shared_axis < 0 || period <= 0 || shared().stride * shared().count > period)
      return std::nullopt;
    Extent inner{0, access_.bytes};
    for (size_t i = 0; i < access_.axes.size(); ++i) {
      const AccessAxis& axis = access_.axes[i];
      if (int(i) != access_.shared_axis && axis.stride % period != 0)
        inner.stretch(axis.stride, axis.count);
    }
    if (inner.end - inner.begin > shared().stride) return std::nullopt;
    const Extent first = inner.moved(access_.place.offset);
    return first.moved((first.begin % period + period) % period - first.begin);
  }

  /// A part may go on at the begin of the period.
  static bool overlap_in_period(const Extent& a, const Extent& b, int64_t period) {
    return overlap(a, b) || overlap(a.moved(period), b) || overlap(a, b.moved(period));
  }

  std::optional<Extent> bytes(int worker) const {
    return access_.shared_axis < 0 ? whole_ : part_of(rest_, worker);
  }

  std::optional<Extent> part_of(const Extent& first, int worker) const {
    const Range own = share_of(access_.share, worker, workers_);
    if (own.empty()) return std::nullopt;
    Extent part = first.moved(own.begin * shared().stride);
    part.stretch(shared().stride, own.end - own.begin);
    return part;
  }

  PlacedAccess access_;  ///< its place is one of the memory
  int memory_;
  int workers_;
  Ownership ownership_;
  Extent whole_;
  Extent rest_;                   ///< bytes of the first of what is shared out
  std::vector<int64_t> periods_;  ///< candidates; none if nothing is shared out
};

using SharedAccesses = std::vector<SharedAccess>;

bool cross(const SharedAccesses& before, const SharedAccesses& now) {
  return std::ranges::any_of(before, [&](const SharedAccess& a) {
    return std::ranges::any_of(now, [&](const SharedAccess& b) { return a.crosses(b); });
  });
}

bool has_barrier(const std::vector<Record>& records) {
  return std::ranges::any_of(records, [](const Record& record) {
    const LoopCall* loop = loop_of_phases(record);
    return record.barrier || (loop != nullptr && loop->steps > 0 && has_barrier(loop->body));
  });
}

class Barriers {
 public:
  /// For a plan, whose records are `records`.
  Barriers(const Plan& plan, std::vector<Record>& records)
      : plan_(plan),
        top_(records),
        position_(size_t(plan.loop_depth)),
        workers_(plan.workers),
        footprint_([&plan](const Record& record, const Position& position, int depth) {
          return footprint_of(plan, record, position, depth);
        }) {}
  /// For a loop, which `records` has alone.
  Barriers(const SharedLoop& shared, std::vector<Record>& records)
      : plan_(shared.plan),
        top_(records),
        position_(shared.position),
        depth_(shared.depth),
        workers_(shared.workers),
        ownership_(shared.ownership),
        footprint_(shared.footprint) {
    position_.resize(std::max(position_.size(), size_t(depth_) + 1));
  }

  void place() {
    clear(top_);
    if (workers_ == 1) return;
    do {
      found_ = false;
      since_.clear();
      last_ = nullptr;
      records(top_);
    } while (found_);
    if (mutated(Mutant::barriers_left_out)) clear(top_);
  }

 private:
  static void clear(std::vector<Record>& records) {
    for (Record& record : records) {
      record.barrier = false;
      if (auto* loop = std::get_if<LoopCall>(&record.call)) clear(loop->body);
    }
  }

  void records(std::vector<Record>& records) {
    for (Record& record : records) {
      if (loop_of_phases(record) != nullptr) {
        steps(record);
      } else {
        phase(record);
      }
    }
  }

  void phase(Record& record) {
    SharedAccesses now = shared_accesses(record);
    const auto conflict = std::ranges::find_if(
        since_, [&](const SharedAccesses& before) { return cross(before, now); });
    if (conflict != since_.end()) {
      before_conflict(size_t(conflict - since_.begin())).barrier = found_ = true;
      forget();
    }
    since_.push_back(std::move(now));
    end(record);
    // A wrong index ends the call in one worker: no other one may write a state by then.
    if (std::holds_alternative<TableCall>(record.call) && !record.barrier) {
      record.barrier = found_ = true;
      forget();
    }
  }

  /// The record that a barrier follows, so that it lies between the entry of `since_` and now: the
  /// last one, or the one before a loop, where it is executed once.
  Record& before_conflict(size_t entry) {
    for (const Entered& loop : loops_) {
      if (entry < loop.since && loop.before != nullptr) return *loop.before;
    }
    return *last_;
  }

  /// There is a barrier: nothing before it matters.
  void forget() {
    since_.clear();
    for (Entered& loop : loops_) loop.since = 0;
  }

  SharedAccesses shared_accesses(const Record& record) const {
    SharedAccesses all;
    for (PlacedAccess& access : footprint_(record, position_, depth_))
      all.emplace_back(plan_, workers_, ownership_, std::move(access));
    return all;
  }

  /// The record, or the loop, ends here: a barrier before what comes next is its.
  void end(Record& record) {
    last_ = &record;
    if (record.barrier) forget();
  }

  void steps(Record& record) {
    auto& loop = std::get<LoopCall>(record.call);
    const size_t depth = size_t(depth_++);
    loops_.push_back({last_, since_.size()});
    constexpr int64_t kFirst = 4, kLast = 2;
    for (int64_t i = 0; i < loop.steps; ++i) {
      if (i == kFirst && loop.steps > kFirst + kLast) {
        i = loop.steps - kLast;
        skip(record);
      }
      position_[depth] = position_in(loop, i);
      for (Record& inner : loop.body) {
        if (inner.idle_at_last && i + 1 == loop.steps) continue;
        loop_of_phases(inner) != nullptr ? steps(inner) : phase(inner);
      }
    }
    --depth_;
    loops_.pop_back();
    if (loop.steps > 0) wait_once(record);
    end(record);
  }

  /// Iterations that are like those before. With a barrier in each, nothing from before the last
  /// one matters; without any, all that they have accessed does.
  void skip(const Record& record) {
    if (has_barrier(std::get<LoopCall>(record.call).body)) {
      forget();
    } else {
      --depth_;
      since_.push_back(shared_accesses(record));
      ++depth_;
    }
  }

  /// Without a barrier in its body workers may be any number of steps apart.
  void wait_once(Record& record) {
    auto& loop = std::get<LoopCall>(record.call);
    if (loop.steps == 1 || loop.body.empty() || has_barrier(loop.body)) return;
    const SharedAccesses all = shared_accesses(record);
    if (!cross(all, all)) return;
    loop.body.back().barrier = found_ = true;
  }

  const Plan& plan_;
  std::vector<Record>& top_;
  Position position_;
  int depth_ = 0;
  const int workers_;
  const Ownership ownership_ = Ownership::ranges;
  const FootprintOf footprint_;
  std::vector<SharedAccesses> since_;  ///< of what has run since the last barrier
  /// A loop that the search is in: what ended before it, and how much of `since_` is from before.
  struct Entered {
    Record* before = nullptr;
    size_t since = 0;
  };
  std::vector<Entered> loops_;
  Record* last_ = nullptr;  ///< what ended last
  bool found_ = false;      ///< another barrier, in this round
};

}  // namespace

void place_barriers(Plan& plan) { Barriers(plan, plan.records).place(); }

namespace {

/// The records of the loop's body, with barriers.
std::vector<Record> with_barriers(SharedLoop shared) {
  shared.loop.private_rows = false;
  std::vector<Record> records(1);
  records[0].call = std::move(shared.loop);
  Barriers(shared, records).place();
  return std::move(std::get<LoopCall>(records[0].call).body);
}

}  // namespace

std::vector<bool> barriers_in_loop(SharedLoop shared) {
  std::vector<bool> after;
  for (const Record& record : with_barriers(std::move(shared))) after.push_back(record.barrier);
  return after;
}

bool has_barriers(SharedLoop shared) { return has_barrier(with_barriers(std::move(shared))); }

BarrierCount count_barriers(const Plan& plan) {
  BarrierCount count;
  visit_phases(plan.records, [&](const PhaseRecord& at) {
    ++count.phases;
    count.barriers += at.record->barrier ? 1 : 0;
  });
  return count;
}

}  // namespace graphc::core

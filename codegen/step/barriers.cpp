// SPDX-License-Identifier: Apache-2.0
// The records are gone through in the order in which they run, with the barriers found so far. Of a
// loop some iterations do: how an access moves is the same from one to the next, but for the first,
// which may find carries elsewhere, for the parity of slots, and for the last, which may leave
// records out.
#include "codegen/step/barriers.h"

#include <algorithm>
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
    find_period();
    rest_ = {access_.place.offset, access_.place.offset + access_.bytes};
    for (size_t i = 0; i < access_.axes.size(); ++i) {
      if (int(i) != access_.shared_axis)
        rest_.stretch(access_.axes[i].stride, access_.axes[i].count);
    }
  }

  /// Whether a worker accesses what another one writes in the other access.
  bool crosses(const SharedAccess& other) const {
    if (memory_ != other.memory_ || !(access_.writes() || other.access_.writes()) ||
        !overlap(whole_, other.whole_))
      return false;
    const bool periodic = period_ > 0 && period_ == other.period_;
    if (ownership_ == Ownership::indices) return !(periodic && is_shared_alike(other));
    for (int a = 0; a < workers_; ++a) {
      const std::optional<Extent> mine = periodic ? residues(a) : bytes(a);
      if (!mine) continue;
      for (int b = 0; b < workers_; ++b) {
        if (a == b) continue;
        const std::optional<Extent> theirs = periodic ? other.residues(b) : other.bytes(b);
        if (theirs && (periodic ? overlap_in_period(*mine, *theirs) : overlap(*mine, *theirs)))
          return true;
      }
    }
    return false;
  }

 private:
  const AccessAxis& shared() const { return access_.axes[size_t(access_.shared_axis)]; }

  /// Whether equal residues are equal indices.
  bool is_shared_alike(const SharedAccess& other) const {
    return access_.share.extent == other.access_.share.extent &&
           access_.share.grain == other.access_.share.grain && first_.begin == other.first_.begin &&
           shared().stride == other.shared().stride;
  }

  /// The bytes of a worker's part lie at the same residues of `stride * count`, if all other axes
  /// move by whole periods, or stay inside one of what is shared out.
  void find_period() {
    const int64_t period = shared().stride * shared().count;
    if (period <= 0) return;
    Extent inner{0, access_.bytes};
    for (size_t i = 0; i < access_.axes.size(); ++i) {
      const AccessAxis& axis = access_.axes[i];
      if (int(i) != access_.shared_axis && axis.stride % period != 0)
        inner.stretch(axis.stride, axis.count);
    }
    if (inner.end - inner.begin > shared().stride) return;
    period_ = period;
    first_ = inner.moved(access_.place.offset);
    first_ = first_.moved((first_.begin % period + period) % period - first_.begin);
  }

  /// A part may go on at the begin of the period.
  bool overlap_in_period(const Extent& a, const Extent& b) const {
    return overlap(a, b) || overlap(a.moved(period_), b) || overlap(a, b.moved(period_));
  }

  std::optional<Extent> residues(int worker) const { return part_of(first_, worker); }
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
  int64_t period_ = 0;  ///< 0: none
  Extent first_;        ///< residues of the first of what is shared out
  Extent rest_;         ///< bytes of the same
};

using SharedAccesses = std::vector<SharedAccess>;

bool cross(const SharedAccesses& before, const SharedAccesses& now) {
  return std::ranges::any_of(before, [&](const SharedAccess& a) {
    return std::ranges::any_of(now, [&](const SharedAccess& b) { return a.crosses(b); });
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

  static bool has_barrier(const std::vector<Record>& records) {
    return std::ranges::any_of(records, [](const Record& record) {
      const LoopCall* loop = loop_of_phases(record);
      return record.barrier || (loop != nullptr && loop->steps > 0 && has_barrier(loop->body));
    });
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

std::vector<bool> barriers_in_loop(SharedLoop shared) {
  shared.loop.private_rows = false;
  std::vector<Record> records(1);
  records[0].call = std::move(shared.loop);
  Barriers(shared, records).place();
  std::vector<bool> after;
  for (const Record& record : std::get<LoopCall>(records[0].call).body)
    after.push_back(record.barrier);
  return after;
}

namespace {

/// The rows that all records of a loop share out, some of them matrices; 0 if they do not.
int64_t shared_rows(const LoopCall& loop) {
  int64_t rows = 0;
  bool matrices = false;
  for (const Record& record : loop.body) {
    const Share& share = record.share;
    if (record.barrier) return 0;
    const auto* call = std::get_if<NestCall>(&record.call);
    // A product of one row at a time reads its matrix for each of them.
    if (call == nullptr || share.grain != 1 || !call->products.empty()) return 0;
    const bool by_rows = share.along == Along::rows && call->outer.empty();
    if (!by_rows && share.along != Along::outer) return 0;
    if (rows != 0 && rows != share.extent) return 0;
    rows = share.extent;
    matrices |= share.along == Along::outer;
  }
  return matrices && rows > 1 ? rows : 0;
}

void keep_rows_apart(const Plan& plan, std::vector<Record>& records, Position& position,
                     int depth) {
  for (Record& record : records) {
    auto* loop = std::get_if<LoopCall>(&record.call);
    if (loop == nullptr || loop->private_rows || loop->steps == 0) continue;
    const int64_t rows = shared_rows(*loop);
    if (rows == 0) {
      position[size_t(depth)] = position_in(*loop, 0);
      keep_rows_apart(plan, loop->body, position, depth + 1);
      continue;
    }
    // Each row might be a worker's of its own.
    const std::vector<bool> waits = barriers_in_loop(
        {.plan = plan,
         .loop = *loop,
         .position = position,
         .depth = depth,
         .workers = 2,
         .ownership = Ownership::indices,
         .footprint = [&plan](const Record& inner, const Position& at, int around) {
           return footprint_of(plan, inner, at, around);
         }});
    if (std::ranges::find(waits, true) == waits.end()) loop->rows_apart = rows;
  }
}

}  // namespace

void keep_rows_apart(Plan& plan) {
  Position position(size_t(plan.loop_depth));
  keep_rows_apart(plan, plan.records, position, 0);
}

BarrierCount count_barriers(const Plan& plan) {
  BarrierCount count;
  visit_phases(plan.records, [&](const PhaseRecord& at) {
    ++count.phases;
    count.barriers += at.record->barrier ? 1 : 0;
  });
  return count;
}

}  // namespace graphc::core

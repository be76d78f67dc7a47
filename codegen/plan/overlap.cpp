// SPDX-License-Identifier: Apache-2.0
// Before memory is planned every value has a buffer of its own, so buffers say which records need
// each other.
#include "codegen/plan/overlap.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "codegen/plan/moves.h"
#include "codegen/step/access.h"
#include "codegen/step/collectives.h"
#include "codegen/step/visit.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

using Buffers = std::set<int>;

struct Touched {
  Buffers reads, writes;
};

Touched touched_by(const Plan& plan, const Record& record) {
  Touched touched;
  visit_accesses(plan, record, [&](const Access& access) {
    visit_reads(*access.address, [&](const Address& each) {
      (access.writes() ? touched.writes : touched.reads).insert(each.buffer);
    });
  });
  if (const auto* loop = std::get_if<LoopCall>(&record.call)) {
    for (const Carry& carry : loop->carries) touched.writes.insert({carry.now, carry.next});
  }
  return touched;
}

bool meet(const Buffers& a, const Buffers& b) {
  return std::ranges::any_of(a, [&](int buffer) { return b.contains(buffer); });
}

/// Whether the second has to wait for the first.
bool depends(const Touched& second, const Touched& first) {
  return meet(second.reads, first.writes) || meet(second.writes, first.writes) ||
         meet(second.writes, first.reads);
}

int64_t bytes_read(const ExternCall& call) {
  int64_t bytes = 0;
  for (size_t i = 0; i < reads_of(call); ++i) bytes += call.operands[i].bytes;
  return bytes;
}

/// Both as one operation.
ExternCall joined(const ExternCall& a, const ExternCall& b) {
  ExternCall both = a;
  both.name = b.name;
  const auto reads = [](const ExternCall& call) { return long(reads_of(call)); };
  both.operands.insert(both.operands.begin() + reads(a), b.operands.begin(),
                       b.operands.begin() + reads(b));
  both.operands.insert(both.operands.end(), b.operands.begin() + reads(b), b.operands.end());
  return both;
}

class Overlap {
 public:
  Overlap(Plan& plan, int64_t bucket_bytes) : plan_(plan), bucket_bytes_(bucket_bytes) {}

  void run() {
    const auto has = [](const Record& record) { return collective_of(record) != nullptr; };
    if (std::ranges::none_of(plan_.records, has)) return;
    defer_users();
    begin_early();
    begin_early();  // calls, once what they read has moved
    make_buckets();
    wait_late();
    plan_.records.clear();
    for (Placed& each : list_) plan_.records.push_back(std::move(each.record));
  }

 private:
  struct Placed {
    Record record;
    Touched touched;
    size_t after = 0, place = 0;  ///< the record that it follows at the earliest; its own place
    bool late = false;            ///< needs the result of a collective
    bool feeds = false;           ///< a collective, or writes what one reads
  };

  bool is_call(const Placed& each) const { return collective_of(each.record) != nullptr; }

  /// Without waits. What needs the result of a collective comes behind what does not: else the sum
  /// of a layer would be waited for before the work on the layer below.
  void defer_users() {
    Touched of_calls, of_late;
    for (Record& record : plan_.records) {
      const auto* call = std::get_if<ExternCall>(&record.call);
      if (call != nullptr && is_wait(*call)) continue;
      Placed each{std::move(record), {}};
      each.touched = touched_by(plan_, each.record);
      each.late = depends(each.touched, of_calls) || depends(each.touched, of_late);
      if (each.late || is_call(each)) add(each.touched, each.late ? of_late : of_calls);
      list_.push_back(std::move(each));
    }
    defer_copies();
    std::ranges::stable_partition(list_, [](const Placed& each) { return !each.late; });
  }

  /// A copy for late records is late as well, since it is for them that sharing removes it: the
  /// table that they update would be copied before they read it.
  void defer_copies() {
    for (size_t place = list_.size(); place-- > 0;) {
      Placed& each = list_[place];
      if (each.late || !whole_copy(plan_, each.record)) continue;
      const auto followers = std::ranges::subrange(list_.begin() + long(place) + 1, list_.end());
      const auto needs_it = [&](const Placed& other) {
        return depends(other.touched, each.touched);
      };
      each.late = std::ranges::any_of(followers, needs_it) &&
                  std::ranges::all_of(followers, [&](const Placed& other) {
                    return other.late || !needs_it(other);
                  });
    }
  }

  static void add(const Touched& touched, Touched& all) {
    all.reads.insert(touched.reads.begin(), touched.reads.end());
    all.writes.insert(touched.writes.begin(), touched.writes.end());
  }

  /// Marks calls, and the records that write what they read.
  void mark_feeders() {
    Buffers read_by_calls;
    for (size_t place = list_.size(); place-- > 0;) {
      Placed& each = list_[place];
      each.feeds = is_call(each) || meet(each.touched.writes, read_by_calls);
      if (is_call(each)) read_by_calls.insert(each.touched.reads.begin(), each.touched.reads.end());
    }
  }

  /// Gradients are computed as soon as they can be, and their collectives begin then: what feeds
  /// them follows the last record that it depends on.
  void begin_early() {
    mark_feeders();
    for (size_t place = 0; place < list_.size(); ++place) {
      Placed& each = list_[place];
      each.place = each.after = place;
      if (!each.feeds) continue;
      while (each.after > 0 && !depends(each.touched, list_[each.after - 1].touched)) --each.after;
    }
    // A record is before those that may follow it.
    const auto key = [](const Placed& each) {
      return std::tuple(each.after < each.place ? 2 * each.after : 2 * each.place + 1, each.place);
    };
    std::ranges::stable_sort(list_, {}, key);
  }

  void make_buckets() {
    std::vector<Placed> made;
    std::ptrdiff_t bucket = -1;  // the place of the last sum that may take another one
    for (Placed& each : list_) {
      const ExternCall* call = collective_of(each.record);
      const bool sum = call != nullptr && call->function == kAllReduce;
      if (sum && bucket >= 0 && fits(made, size_t(bucket), each)) {
        Placed& before = made[size_t(bucket)];
        each.record.call = joined(std::get<ExternCall>(before.record.call), *call);
        each.touched.reads.merge(before.touched.reads);
        each.touched.writes.merge(before.touched.writes);
        made.erase(made.begin() + bucket);
      }
      made.push_back(std::move(each));
      if (sum) bucket = std::ptrdiff_t(made.size()) - 1;
    }
    list_ = std::move(made);
  }

  bool fits(const std::vector<Placed>& made, size_t bucket, const Placed& each) const {
    const auto &a = std::get<ExternCall>(made[bucket].record.call),
               &b = std::get<ExternCall>(each.record.call);
    if (a.parameter("dtype") != b.parameter("dtype") ||
        a.parameter("terms") != b.parameter("terms") ||
        a.parameter("sent") != b.parameter("sent") ||
        bytes_read(a) + bytes_read(b) > bucket_bytes_ ||
        depends(each.touched, made[bucket].touched))
      return false;
    return std::none_of(made.begin() + long(bucket) + 1, made.end(), [&](const Placed& between) {
      return depends(between.touched, made[bucket].touched);
    });
  }

  /// A wait stands before the first record that depends on its call.
  void wait_late() {
    std::vector<Placed> made;
    std::vector<size_t> open;  // places in `made` of calls without a wait yet
    const auto wait = [&](size_t call) {
      Placed placed;
      placed.record.call = wait_for(std::get<ExternCall>(made[call].record.call));
      made.push_back(std::move(placed));
    };
    for (Placed& each : list_) {
      std::erase_if(open, [&](size_t call) {
        if (!depends(each.touched, made[call].touched)) return false;
        if (mutated(Mutant::waits_left_to_the_end)) return false;
        wait(call);
        return true;
      });
      const bool call = is_call(each);
      made.push_back(std::move(each));
      if (call) open.push_back(made.size() - 1);
    }
    for (const size_t call : open) wait(call);
    list_ = std::move(made);
  }

  Plan& plan_;
  const int64_t bucket_bytes_;
  std::vector<Placed> list_;
};

}  // namespace

void overlap_collectives(Plan& plan, int64_t bucket_bytes) { Overlap(plan, bucket_bytes).run(); }

}  // namespace graphc::core

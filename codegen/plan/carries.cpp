// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/carries.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "codegen/plan/in_place.h"
#include "codegen/plan/moves.h"
#include "codegen/plan/uses.h"
#include "codegen/step/view.h"
#include "codegen/step/visit.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// How the addresses of `now` or `next` of a carry change.
struct Placed {
  int buffer = -1;
  bool alone = true;  ///< `now` and `next` share one place
  bool is_next = false;
  int64_t slot = 0;     ///< distance in bytes between the two places
  int64_t left_at = 0;  ///< offset of the last value after the loop
  int depth = 0;        ///< number of loops around the loop
  bool inside = false;  ///< whether the walk is inside the loop
  Address initial;
};

/// `base` with the offset and terms of `address` added.
Address moved_along(Address base, const Address& address) {
  base.offset += address.offset;
  base.terms.insert(base.terms.end(), address.terms.begin(), address.terms.end());
  if (base.at_first)
    base.at_first = std::make_shared<const Address>(moved_along(*base.at_first, address));
  return base;
}

class CarryPlaces {
 public:
  explicit CarryPlaces(Plan& plan) : plan_(plan), uses_(plan) {}

  void run() {
    choose(plan_.records, -1);
    place(plan_.records, 0);
  }

 private:
  // --- one place, or two ---

  void choose(const std::vector<Record>& records, int scope) {
    for (const Record& record : records) {
      const auto* loop = std::get_if<LoopCall>(&record.call);
      if (loop == nullptr) continue;
      for (const Carry& carry : loop->carries) {
        if (!loop->private_rows && may_keep_place(carry)) one_place_.insert(carry.now);
        homes_[carry.now] = scope;
      }
      choose(loop->body, loop->id);
    }
  }

  /// The rule of codegen/plan/sharing.h for `next` in the place of `now`, in each step.
  bool may_keep_place(const Carry& carry) const {
    const std::vector<Use>& next = uses_.of(carry.next);
    const auto written = std::ranges::find(next, AccessMode::write, &Use::mode);
    if (written == next.end()) return false;
    const Use& first = *written;
    bool in_record = false;
    for (const Use& use : uses_.of(carry.now)) {
      if (use.before(first) || mutated(Mutant::carry_overwritten_early)) continue;
      if (use.record != first.record || loop_of_phases(*use.record) != nullptr) return false;
      in_record = true;
    }
    return !in_record || replaces_in_place(plan_, *first.record, first.depth, carry.next, carry.now,
                                           [](int buffer) { return buffer; });
  }

  // --- addresses ---

  void place(std::vector<Record>& records, int depth) {
    std::vector<Record> placed;
    placed.reserve(records.size());
    for (Record& record : records) {
      auto* loop = std::get_if<LoopCall>(&record.call);
      if (loop == nullptr) {
        change_addresses(record, [&](Address& address) { change(address); });
      } else {
        for (Carry& carry : loop->carries) enter(*loop, carry, depth, placed);
        place(loop->body, depth + 1);
        for (const Carry& carry : loop->carries)
          placed_.at(carry.now).inside = placed_.at(carry.next).inside = false;
      }
      placed.push_back(std::move(record));
    }
    records = std::move(placed);
  }

  /// Assigns a carry its place or places, at its loop.
  void enter(const LoopCall& loop, Carry& carry, int depth, std::vector<Record>& before) {
    change_address(carry.initial, [&](Address& address) { change(address); });
    Buffer& buffer = plan_.buffers[size_t(carry.now)];
    buffer.scope = homes_.at(carry.now);
    Placed now;
    now.buffer = carry.now;
    now.depth = depth;
    now.inside = true;
    now.alone = one_place_.contains(carry.now);
    if (now.alone) {
      before.push_back(copy_of(carry, buffer));
    } else {
      const int64_t slot = (buffer.bytes + 63) / 64 * 64;
      buffer.bytes = 2 * slot;
      now.slot = mutated(Mutant::carries_assigned_in_turn) ? 0 : slot;
      now.left_at = loop.steps % 2 == 1 ? now.slot : 0;
      now.initial = std::move(carry.initial);
    }
    carry.initial = {};
    Placed next = now;
    next.is_next = true;
    placed_[carry.next] = std::move(next);
    placed_[carry.now] = std::move(now);
  }

  /// A record that copies the initial value to the place of the carry.
  Record copy_of(const Carry& carry, const Buffer& buffer) {
    const bool by_rows = carry.rows > 1;
    const Shape shape =
        by_rows ? Shape{carry.rows, carry.elements / carry.rows} : Shape{carry.elements};
    View from = contiguous_view(carry.now, {carry.dtype, shape}), to = from;
    from.address = carry.initial;
    to.address.value = carry.now;
    Nest nest = copy_nest(from, to, buffer.name, by_rows ? 1 : 0);
    nest.call.program = index_of(std::move(nest.program));
    return {Family::map, std::move(nest.call)};
  }

  int index_of(NestProgram program) {
    if (programs_.empty()) {
      for (size_t i = 0; i < plan_.programs.size(); ++i)
        programs_.emplace(plan_.programs[i].text(), int(i));
    }
    const auto [found, added] = programs_.emplace(program.text(), int(plan_.programs.size()));
    if (added) plan_.programs.push_back(std::move(program));
    return found->second;
  }

  void change(Address& address) const {
    const auto found = placed_.find(address.buffer);
    if (found == placed_.end()) return;
    const Placed& carry = found->second;
    const Address as_lowered = address;
    address.buffer = carry.buffer;
    if (carry.alone) return;
    if (!carry.inside) {
      address.offset += carry.left_at;
    } else if (carry.is_next) {
      address.offset += carry.slot;
      address.terms.push_back({carry.depth, 0, -carry.slot});
    } else {
      address.terms.push_back({carry.depth, 0, carry.slot});
      address.first_loop = carry.depth;
      address.at_first = std::make_shared<const Address>(moved_along(carry.initial, as_lowered));
    }
  }

  Plan& plan_;
  const Uses uses_;
  std::unordered_set<int> one_place_;   ///< carries with one place, by `now`
  std::unordered_map<int, int> homes_;  ///< the loop around a carry's loop, or -1
  std::unordered_map<int, Placed> placed_;
  std::unordered_map<std::string, int> programs_;  ///< by text; filled on first use
};

}  // namespace

void place_carries(Plan& plan) { CarryPlaces(plan).run(); }

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// An address is linear in the steps of the loops around it, but for two things: the first iteration
// of a loop may find it elsewhere, and odd iterations may find it in another slot. So the
// iterations of a loop fall into at most three groups, in each of which it moves by one stride.
#include "codegen/step/footprint.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace graphc::core {
namespace {

/// Some iterations of a loop inside the record: `count` of them from `first` on, each `stride`
/// iterations after the one before.
struct Iterations {
  const LoopCall* loop = nullptr;
  int depth = 0;
  int64_t first = 0, count = 0, stride = 1;
};

/// How an address depends on the loop at a depth, those of first iterations behind it included.
struct Dependence {
  bool first = false, slots = false, steps = false;
};

Dependence dependence(const Address& address, int depth) {
  Dependence on;
  for (const Address* each = &address; each != nullptr; each = each->at_first.get()) {
    on.first |= each->at_first && each->first_loop == depth;
    for (const Address::Term& term : each->terms) {
      if (term.loop != depth) continue;
      on.slots |= term.parity != 0;
      on.steps |= term.step != 0;
    }
  }
  return on;
}

class Footprint {
 public:
  Footprint(const Plan& plan, const Position& position, int depth)
      : plan_(plan), position_(position), around_(depth) {
    position_.resize(std::max(position_.size(), size_t(plan.loop_depth)));
  }

  std::vector<PlacedAccess> of(const Record& record) {
    add(record);
    return std::move(found_);
  }

 private:
  /// A loop inside the record, and how many of its iterations run the record at hand.
  struct Inside {
    const LoopCall* loop = nullptr;
    int64_t end = 0;
  };

  void add(const Record& record) {
    const Share around = share_;
    if (record.share.along != Along::around) share_ = record.share;
    if (const auto* loop = std::get_if<LoopCall>(&record.call)) {
      for (const Record& inner : loop->body) {
        inside_.push_back({loop, loop->steps - (inner.idle_at_last ? 1 : 0)});
        add(inner);
        inside_.pop_back();
      }
    } else if (const auto* block = std::get_if<BlockCall>(&record.call)) {
      for (const Record& inner : block->body) add(inner);
    } else {
      for (const Access& access : accesses_of(plan_, record)) place(access);
    }
    share_ = around;
  }

  void place(const Access& access) {
    const bool first_around =
        inside_.empty() && around_ > 0 && position_[size_t(around_ - 1)].iteration == 0;
    if (access.not_at_first && first_around) return;
    place(access, 0);
  }

  /// Divides the iterations of the loop inside_[at] and of those inside it into groups.
  void place(const Access& access, size_t at) {
    if (at == inside_.size()) return emit(access);
    const Inside& inside = inside_[at];
    const int depth = around_ + int(at);
    const bool innermost = at + 1 == inside_.size();
    int64_t begin = innermost && access.not_at_first ? 1 : 0;
    const int64_t end = inside.end;
    const Dependence on = dependence(*access.address, depth);
    if (on.first && begin == 0 && end > 0) {
      group(access, at, {inside.loop, depth, 0, 1, 1});
      begin = 1;
    }
    if (!on.steps && !on.slots) {
      group(access, at, {inside.loop, depth, begin, std::min<int64_t>(end - begin, 1), 1});
    } else if (!on.slots) {
      group(access, at, {inside.loop, depth, begin, end - begin, 1});
    } else {
      for (const int64_t from : {begin, begin + 1})
        group(access, at, {inside.loop, depth, from, (end - from + 1) / 2, 2});
    }
  }

  void group(const Access& access, size_t at, const Iterations& iterations) {
    if (iterations.count <= 0) return;
    position_[size_t(iterations.depth)] = position_in(*iterations.loop, iterations.first);
    groups_.push_back(iterations);
    place(access, at + 1);
    groups_.pop_back();
  }

  void emit(const Access& access) {
    const Address& address = at_position(*access.address, position_);
    PlacedAccess placed;
    placed.place = resolve(*access.address, position_);
    placed.place.offset += access.region.offset;
    placed.bytes = access.region.bytes;
    placed.axes.assign(access.region.axes().begin(), access.region.axes().end());
    set_shared_axis(placed);
    placed.mode = access.mode;
    placed.selected = access.selected;
    placed.operand = access.operand;
    placed.index = access.index;
    for (const Iterations& group : groups_) {
      int64_t stride = 0;
      for (const Address::Term& term : address.terms) {
        if (term.loop == group.depth) stride += term.step * group.stride;
      }
      if (group.loop->reverse) stride = -stride;
      if (stride != 0 && group.count > 1)
        placed.axes.push_back({AxisOf::step, stride, group.count});
    }
    found_.push_back(std::move(placed));
  }

  static std::optional<AxisOf> axis_of(Along along) {
    if (along == Along::rows) return AxisOf::row;
    if (along == Along::columns) return AxisOf::column;
    if (along == Along::outer) return AxisOf::outermost;
    return std::nullopt;
  }

  /// Loops and blocks share out the rows of the nests inside.
  void set_shared_axis(PlacedAccess& placed) const {
    const std::optional<AxisOf> of = axis_of(share_.along);
    if (!of) return;
    const auto axis = std::ranges::find(placed.axes, *of, &AccessAxis::of);
    if (axis == placed.axes.end() || axis->count != share_.extent) return;
    placed.shared_axis = int(axis - placed.axes.begin());
    placed.share = share_;
  }

  const Plan& plan_;
  Position position_;
  Share share_;                 ///< of the record at hand
  const int around_;            ///< how many loops are around the record
  std::vector<Inside> inside_;  ///< loops inside the record, outermost first
  std::vector<Iterations> groups_;
  std::vector<PlacedAccess> found_;
};

}  // namespace

Extent PlacedAccess::extent() const {
  Extent extent{place.offset, place.offset + bytes};
  for (const AccessAxis& axis : axes) extent.stretch(axis.stride, axis.count);
  return extent;
}

std::vector<PlacedAccess> footprint_of(const Plan& plan, const Record& record,
                                       const Position& position, int depth) {
  return Footprint(plan, position, depth).of(record);
}

int memory_of(const Plan& plan, int buffer) {
  const Buffer& wanted = plan.buffers[size_t(buffer)];
  if (wanted.place == Place::arena) return 0;
  constexpr int kPlaces = int(Place::form) + 1;
  // A constant has no index.
  const int index = wanted.place == Place::constant ? buffer : wanted.index;
  return index * kPlaces + int(wanted.place);
}

std::vector<MemoryAccess> memory_accesses(const Plan& plan, const Record& record,
                                          const Position& position, int depth) {
  std::vector<MemoryAccess> all;
  for (const PlacedAccess& access : footprint_of(plan, record, position, depth)) {
    const Buffer& buffer = plan.buffers[size_t(access.place.buffer)];
    const int64_t begin = buffer.place == Place::arena ? buffer.offset : 0;
    all.push_back(
        {memory_of(plan, access.place.buffer), access.extent().moved(begin), access.writes()});
  }
  return all;
}

}  // namespace graphc::core

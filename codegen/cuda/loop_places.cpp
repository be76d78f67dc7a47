// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/loop_places.h"

#include <algorithm>
#include <utility>

#include "codegen/step/footprint.h"
#include "codegen/step/visit.h"

namespace graphc::core::cuda {
namespace {

/// How columns lie in what an access touches: the element of column c at residue c * stride of
/// `period` bytes, whatever its row, its part and the step are. Then equal residues are equal
/// columns.
struct ColumnForm {
  int64_t period = 0, stride = 0, unit = 0;
  bool operator==(const ColumnForm&) const = default;
};

struct LoopAccess {
  bool writes = false;
  int memory = 0;   ///< of the plan (memory_of), or of what is exchanged: below 0
  int buffer = -1;  ///< of the plan
  Extent bytes;     ///< in the memory, at step 0 of an even iteration
  int64_t step = 0, slot = 0;
  std::optional<ColumnForm> columns;

  Extent at(int64_t iteration, int64_t index) const {
    const int64_t moved = step * index + (iteration % 2 == 1 ? slot : 0);
    return {bytes.begin + moved, bytes.end + moved};
  }
};

/// Lists the accesses of a nest.
class Accesses {
 public:
  Accesses(const LoopNests& nests, const std::vector<Exchange>& exchanges)
      : nests_(nests), exchanges_(exchanges) {}

  std::vector<LoopAccess> of(size_t nest, Owner owner) {
    found_.clear();
    for (size_t i = 0; i < exchanges_.size(); ++i) exchange(nest, int(i));
    const NestCall& call = *nests_.nests[nest];
    for (const Access& access : accesses_of(nests_.program(nest), call)) {
      const bool exchanged =
          access.operand == Access::Operand::left && is_exchanged(nest, size_t(access.index));
      if (!exchanged) add(access, call, owner);
    }
    return std::move(found_);
  }

 private:
  bool is_exchanged(size_t nest, size_t product) const {
    return std::ranges::any_of(exchanges_, [&](const Exchange& each) {
      return each.nest == nest && each.product == product;
    });
  }

  /// What is exchanged lies in one of two slots, by turns: terms stand for bytes there.
  void exchange(size_t nest, int number) {
    const Exchange& exchange = exchanges_[size_t(number)];
    const int64_t terms = nests_.nests[exchange.nest]->products[exchange.product].panels.k;
    const auto touch = [&](bool writes, int64_t first, int64_t count, bool other) {
      const int memory = kFirstExchange - number;
      const int64_t slot = other ? -terms : terms;
      if (other) first += terms;
      found_.push_back({writes, memory, memory, {first, first + count}, 0, slot, {}});
    };
    if (exchange.nest == nest) touch(false, 0, terms, false);
    for (const HandedStore& store : exchange.stores) {
      if (store.nest == nest) touch(true, store.first_term, store.terms, exchange.next_step);
    }
  }

  void add(const Access& access, const NestCall& call, Owner owner) {
    const bool own_columns = access.operand == Access::Operand::operand && owner == Owner::element;
    std::optional<ColumnForm> columns;
    if (own_columns) columns = column_form(access.region, call.unit);
    const MovingPlace place = moving_place(*access.address, nests_);
    if (columns && (place.step % columns->period != 0 || place.slot % columns->period != 0))
      columns.reset();
    add(place.base, access, place.step, place.slot, columns);
    if (place.first) add(*place.first, access, 0, 0, columns);
  }

  /// None where another axis leads to other residues, or where elements have no columns.
  static std::optional<ColumnForm> column_form(const Region& region, int64_t unit) {
    const AccessAxis* column = region.axis(AxisOf::column);
    if (column == nullptr || column->stride < region.bytes) return std::nullopt;
    const int64_t period = unit * column->stride;
    const bool in_periods = std::ranges::all_of(region.axes(), [&](const AccessAxis& axis) {
      return axis.of == AxisOf::column || axis.count == 1 || axis.stride % period == 0;
    });
    if (!in_periods) return std::nullopt;
    return ColumnForm{period, column->stride, unit};
  }

  void add(const BufferPlace& place, const Access& access, int64_t step, int64_t slot,
           std::optional<ColumnForm> columns) {
    const Buffer& buffer = nests_.plan->buffers[size_t(place.buffer)];
    const int64_t begin = place.offset + (buffer.place == Place::arena ? buffer.offset : 0);
    if (columns && (place.offset + access.region.offset) % columns->period != 0) columns.reset();
    found_.push_back({access.writes(), memory_of(*nests_.plan, place.buffer), place.buffer,
                      access.region.extent().moved(begin), step, slot, columns});
  }

  /// Memories of what is exchanged have numbers from here downwards.
  static constexpr int kFirstExchange = -1;

  const LoopNests& nests_;
  const std::vector<Exchange>& exchanges_;
  std::vector<LoopAccess> found_;
};

class Meetings {
 public:
  Meetings(const LoopNests& nests, const std::vector<Owner>& owners,
           const std::vector<Exchange>& exchanges)
      : loop_(*nests.loop), after_(nests.nests.size()) {
    Accesses accesses(nests, exchanges);
    for (size_t i = 0; i < owners.size(); ++i) accesses_.push_back(accesses.of(i, owners[i]));
  }

  std::vector<bool> find() {
    while (add_missing()) {
    }
    // Without a single meeting blocks may be any number of steps apart.
    if (std::ranges::find(after_, true) == after_.end() && ever_conflict()) after_.back() = true;
    return std::move(after_);
  }

 private:
  struct Done {
    size_t nest = 0;
    int64_t iteration = 0;
  };

  /// Goes through some iterations with the meetings there are; adds the first one that lacks.
  bool add_missing() {
    std::vector<Done> since;  // the last meeting
    const size_t count = accesses_.size();
    for (int64_t i = 0; i < 4 * int64_t(count); ++i) {
      const Done now{size_t(i) % count, i / int64_t(count)};
      const bool missing = std::ranges::any_of(since, [&](const Done& done) {
        return conflict(accesses_[done.nest], accesses_[now.nest], now.iteration - done.iteration);
      });
      if (missing) {
        after_[(now.nest + count - 1) % count] = true;
        return true;
      }
      since.push_back(now);
      if (after_[now.nest]) since.clear();
    }
    return false;
  }

  bool conflict(const std::vector<LoopAccess>& before, const std::vector<LoopAccess>& now,
                int64_t iterations) const {
    for (const LoopAccess& a : before) {
      for (const LoopAccess& b : now) {
        if (may_meet(a, b) && !private_columns(a, b) && touch(a, b, iterations)) return true;
      }
    }
    return false;
  }

  /// Whether two accesses conflict, however many steps are between them.
  bool ever_conflict() const {
    for (const auto& before : accesses_) {
      for (const LoopAccess& a : before) {
        for (const auto& now : accesses_) {
          for (const LoopAccess& b : now) {
            if (may_meet(a, b) && !private_columns(a, b) && overlap(whole(a), whole(b)))
              return true;
          }
        }
      }
    }
    return false;
  }

  static bool may_meet(const LoopAccess& a, const LoopAccess& b) {
    return (a.writes || b.writes) && a.memory == b.memory;
  }
  static bool private_columns(const LoopAccess& a, const LoopAccess& b) {
    return a.buffer == b.buffer && a.columns && a.columns == b.columns;
  }

  /// Whether `b` touches what `a` has touched so many iterations before, in any iteration.
  bool touch(const LoopAccess& a, const LoopAccess& b, int64_t iterations) const {
    if (a.step != b.step) return overlap(whole(a), whole(b));
    const int64_t index = loop_.reverse ? -iterations : iterations;
    for (int64_t parity = 0; parity < 2; ++parity) {
      if (overlap(a.at(parity, 0), b.at(parity + iterations, index))) return true;
    }
    return false;
  }

  /// What an access touches in all steps.
  Extent whole(const LoopAccess& access) const {
    Extent all = access.bytes;
    all.stretch(access.step, loop_.steps);
    all.stretch(access.slot, 2);
    return all;
  }

  const LoopCall& loop_;
  std::vector<bool> after_;
  std::vector<std::vector<LoopAccess>> accesses_;
};

}  // namespace

MovingPlace moving_place(const Address& address, const LoopNests& nests) {
  const int depth = nests.depth;
  Position position = nests.position;
  position.resize(std::max(position.size(), size_t(depth) + 1));
  const Address* from = &address;
  while (from->at_first && from->first_loop != depth &&
         position[size_t(from->first_loop)].iteration == 0)
    from = from->at_first.get();
  MovingPlace place;
  position[size_t(depth)] = {2, 0};  // an even iteration, not the first
  place.base = resolve(*from, position);
  for (const Address::Term& term : from->terms) {
    if (term.loop != depth) continue;
    place.step += term.step;
    place.slot += term.parity;
  }
  if (from->at_first && from->first_loop == depth) {
    position[size_t(depth)] = position_in(*nests.loop, 0);
    place.first = resolve(*from, position);
  }
  return place;
}

bool is_invariant(const LoopNests& nests, const CallProduct& product) {
  const MovingPlace place = moving_place(product.b, nests);
  if (!place.stays()) return false;
  // Whatever else is written in the loop and could lie there counts, with the bytes it has.
  const Buffer& buffer = nests.plan->buffers[size_t(place.base.buffer)];
  if (buffer.place == Place::form || buffer.place == Place::input ||
      buffer.place == Place::constant)
    return true;
  bool written = false;
  for (const Record& record : nests.loop->body) {
    visit_accesses(*nests.plan, record, [&](const Access& access) {
      if (!access.writes()) return;
      visit_reads(*access.address, [&](const Address& each) {
        const Buffer& other = nests.plan->buffers[size_t(each.buffer)];
        if (other.place != buffer.place) return;
        written |= buffer.place == Place::arena
                       ? overlap({buffer.offset, buffer.offset + buffer.bytes},
                                 {other.offset, other.offset + other.bytes})
                       : each.buffer == place.base.buffer;
      });
    });
  }
  return !written;
}

std::vector<bool> meetings(const LoopNests& nests, const std::vector<Owner>& owners, int64_t groups,
                           const std::vector<Exchange>& exchanges) {
  if (groups == 1) return std::vector<bool>(nests.nests.size());
  return Meetings(nests, owners, exchanges).find();
}

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_barriers.h"

#include <algorithm>
#include <utility>

#include "codegen/step/barriers.h"
#include "codegen/step/visit.h"

namespace graphc::core::cuda {
namespace {

/// The memory that the blocks of a group of rows access, if nests are divided according to their
/// owners.
class OwnedFootprint {
 public:
  OwnedFootprint(const LoopNests& nests, const std::vector<Owner>& owners, int64_t groups,
                 const std::vector<Exchange>& exchanges, Ordered ordered,
                 const std::vector<RowOperand>& rows)
      : plan_(*nests.plan),
        owners_(owners),
        groups_(groups),
        exchanges_(exchanges),
        ordered_(ordered),
        row_operands_(rows) {
    for (const Exchange& each : exchanges)
      terms_.push_back(nests.nests[each.nest]->products[each.product].panels.k);
    for (const NestCall* call : nests.nests) {
      outer_axes_.push_back(call->outer.size());
      rows_.push_back(call->rows);
    }
  }

  /// The accesses of a record of the loop's body, whose id is the index of its nest, or of the
  /// whole loop.
  std::vector<PlacedAccess> operator()(const Record& record, const Position& position, int depth) {
    found_.clear();
    const auto* loop = std::get_if<LoopCall>(&record.call);
    if (loop == nullptr) {
      const int64_t slot = position[size_t(depth - 1)].iteration % 2;
      add(record, size_t(record.id), position, depth, slot);
      return std::move(found_);
    }
    for (const Record& inner : loop->body) {
      Record all_steps = record;
      std::get<LoopCall>(all_steps.call).body = {inner};
      add(all_steps, size_t(inner.id), position, depth, std::nullopt);
    }
    return std::move(found_);
  }

 private:
  void add(const Record& record, size_t nest, const Position& position, int depth,
           std::optional<int64_t> slot) {
    for (size_t i = 0; i < exchanges_.size() && ordered_ == Ordered::by_barriers; ++i)
      exchange(nest, int(i), slot);
    for (PlacedAccess& access : footprint_of(plan_, record, position, depth)) {
      if (access.operand == Access::Operand::left && is_exchanged(nest, size_t(access.index)))
        continue;
      if (const RowOperand* of_rows = row_operand(access, nest)) {
        if (!of_rows->in_memory) continue;
        // All rows are a share, which is that of the first block.
        if (rows_[nest] == 1) {
          std::erase_if(access.axes, [](const AccessAxis& axis) { return axis.of == AxisOf::row; });
          access.axes.push_back({AxisOf::row, access.bytes, 1});
        }
        share(access, AxisOf::row, Along::rows, rows_[nest]);
      } else {
        share(access, nest);
      }
      found_.push_back(std::move(access));
    }
  }

  /// The columns of an operand belong to the blocks that own its elements. All blocks read the
  /// whole operands of products, unless they own indices of the outermost axis. Block i owns the
  /// indices i, i + groups and so on, but of rows the i-th few in sequence (owned_ranges.h). Only
  /// where these are one or none is the owner of a row that of the index: so the grain is their
  /// number, and shares of different grains are not alike.
  void share(PlacedAccess& access, size_t nest) const {
    access.shared_axis = -1;
    // Of several axes around the rows blocks own pairs of indices: none of the axes says whose.
    if (owners_[nest] == Owner::outer && outer_axes_[nest] == 1)
      share(access, AxisOf::outermost, Along::outer, 1);
    if (owners_[nest] == Owner::row)
      share(access, AxisOf::row, Along::rows, rows_each(rows_[nest]));
    if (access.operand == Access::Operand::operand && owners_[nest] == Owner::element)
      share(access, AxisOf::column, Along::columns, 1);
  }

  int64_t rows_each(int64_t rows) const { return (rows + groups_ - 1) / groups_; }

  static void share(PlacedAccess& access, AxisOf of, Along along, int64_t grain) {
    const auto axis = std::ranges::find(access.axes, of, &AccessAxis::of);
    if (axis == access.axes.end() || axis->stride < access.bytes) return;
    access.shared_axis = int(axis - access.axes.begin());
    access.share = {along, axis->count, grain};
  }

  const RowOperand* row_operand(const PlacedAccess& access, size_t nest) const {
    if (access.operand != Access::Operand::operand) return nullptr;
    const auto found = std::ranges::find_if(row_operands_, [&](const RowOperand& each) {
      return each.nest == nest && each.operand == access.index;
    });
    return found == row_operands_.end() ? nullptr : &*found;
  }

  bool is_exchanged(size_t nest, size_t product) const {
    return std::ranges::any_of(exchanges_, [&](const Exchange& each) {
      return each.nest == nest && each.product == product;
    });
  }

  /// An exchanged operand is in one of two slots, alternately, in memory of its own; addresses
  /// there count terms instead of bytes. Without a slot, both are accessed.
  void exchange(size_t nest, int number, std::optional<int64_t> slot) {
    const Exchange& exchange = exchanges_[size_t(number)];
    const int64_t terms = terms_[size_t(number)];
    const auto access = [&](AccessMode mode, int64_t first, int64_t count, bool other) {
      PlacedAccess placed;
      placed.place = {kFirstExchange - number, first};
      placed.bytes = count;
      placed.mode = mode;
      if (slot) {
        placed.place.offset += terms * (other ? 1 - *slot : *slot);
      } else {
        placed.axes.push_back({AxisOf::step, terms, 2});
      }
      found_.push_back(std::move(placed));
    };
    if (exchange.nest == nest) access(AccessMode::read, 0, terms, false);
    for (const HandedStore& store : exchange.stores) {
      if (store.nest == nest)
        access(AccessMode::write, store.first_term, store.terms, exchange.next_step);
    }
  }

  /// Memories of exchanged operands are numbered downwards from here.
  static constexpr int kFirstExchange = -1;

  const Plan& plan_;
  const std::vector<Owner>& owners_;
  const int64_t groups_;  ///< blocks that share the rows
  const std::vector<Exchange>& exchanges_;
  const Ordered ordered_;
  const std::vector<RowOperand>& row_operands_;
  std::vector<int64_t> terms_;      ///< for each of exchanges_
  std::vector<size_t> outer_axes_;  ///< of each nest, around its rows
  std::vector<int64_t> rows_;       ///< of each nest
  std::vector<PlacedAccess> found_;
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
  // A write in the loop to any buffer that overlaps these bytes counts, over its whole range.
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

std::vector<bool> barriers_of(const LoopNests& nests, const std::vector<Owner>& owners,
                              int64_t groups, const std::vector<Exchange>& exchanges,
                              Ordered ordered, const std::vector<RowOperand>& rows) {
  SharedLoop shared{.plan = *nests.plan,
                    .loop = {},
                    .position = nests.position,
                    .depth = nests.depth,
                    .workers = int(groups),
                    .ownership = Ownership::indices,
                    .footprint = OwnedFootprint(nests, owners, groups, exchanges, ordered, rows)};
  shared.loop.steps = nests.loop->steps;
  shared.loop.reverse = nests.loop->reverse;
  for (size_t i = 0; i < owners.size(); ++i) {
    Record record{Family::recurrent, *nests.nests[i]};
    record.id = int(i);
    shared.loop.body.push_back(std::move(record));
  }
  return barriers_in_loop(std::move(shared));
}

}  // namespace graphc::core::cuda

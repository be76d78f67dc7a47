// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/nest/levels.h"
#include "codegen/targets/cuda/loops/loop_accesses.h"

namespace graphc::core::cuda {
namespace {

/// Whether the elements of an access begin at multiples of so many bytes in every row and step.
bool is_aligned(const LoopNests& nests, const LoopAccesses& accesses, size_t nest, size_t access,
                int64_t bytes) {
  const NestInstruction& in = accesses.body(nest)[access];
  const MovingPlace place = accesses.place_of(nest, access);
  const auto begins = [&](const BufferPlace& at) {
    const Buffer& buffer = nests.plan->buffers[size_t(at.buffer)];
    return ((buffer.place == Place::arena ? buffer.offset : 0) + at.offset) % bytes == 0;
  };
  // A carry's first place is the same for all parts but for their stride.
  const CallOperand& of = nests.nests[nest]->operands[size_t(in.operand)];
  const bool groups_begin =
      nests.groups == 1 || nests.group_strides[nest].operands[size_t(in.operand)] % bytes == 0;
  return groups_begin && begins(place.base) && place.step % bytes == 0 && place.slot % bytes == 0 &&
         of.row % bytes == 0 && (in.part * of.part) % bytes == 0 &&
         (!place.first || begins(*place.first));
}

class Holding : LoopAccesses {
 public:
  Holding(const LoopNests& nests, const std::vector<Exchange>& exchanges,
          const std::vector<bool>& is_done, int most)
      : LoopAccesses(nests), nests_(nests), exchanges_(exchanges), is_done_(is_done), most_(most) {}

  HeldValues find() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (!is_done_[i] && is_element(i, in, NestOp::load)) hold(i, in);
      }
    }
    for (HeldStore& store : held_.stores)
      store.in_memory = is_read_elsewhere(store.nest, store.store);
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      if (!nests_.program(i).products.empty() || is_done_[i]) continue;
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (is_element(i, in, NestOp::load)) load_ahead(i, in);
      }
    }
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (is_element(i, in, NestOp::store) && !is_held(i, in) && !is_read_elsewhere(i, in))
          held_.unread.emplace_back(i, in);
      }
    }
    return std::move(held_);
  }

 private:
  /// The store of the operand that writes what the load reads in the same step, or the next one.
  std::optional<size_t> store_for(size_t i, size_t load, size_t j, size_t operand,
                                  bool of_next) const {
    for (size_t in = 0; in < body(j).size(); ++in) {
      if (body(j)[in].operand == int(operand) && is_element(j, in, NestOp::store) &&
          is_same_element(i, load, j, in, of_next))
        return in;
    }
    return std::nullopt;
  }

  /// Lets a load read what a store left in registers, if one store alone writes it.
  void hold(size_t i, size_t load) {
    std::vector<std::pair<size_t, size_t>> writers;
    visit_writers(i, load, [&](size_t j, size_t operand) { writers.emplace_back(j, operand); });
    if (writers.size() != 1 || !type_of(i, load)) return;
    const auto [j, operand] = writers[0];
    // Registers have the newest values: those of this step only behind the store, those of the step
    // before only up to it.
    const bool of_next = i <= j;
    const std::optional<size_t> store = store_for(i, load, j, operand, of_next);
    if (!store || !type_of(j, *store)) return;
    const MovingPlace place = place_of(i, load);
    if (!of_next && place.first) return;
    const int from = hold_store(j, *store);
    if (from < 0 || (of_next && !has_same_beginning(i, load, from))) return;
    const bool is_first = std::ranges::none_of(held_.loads, [&](const HeldLoad& other) {
      return other.from == from && other.before_first;
    });
    held_.loads.push_back({i, load, from, of_next && is_first});
  }

  bool is_held(size_t j, size_t store) const {
    return std::ranges::any_of(
        held_.stores, [&](const HeldStore& each) { return each.nest == j && each.store == store; });
  }

  /// The number of a held store; -1 where there are no registers for it.
  int hold_store(size_t j, size_t store) {
    const auto found = std::ranges::find_if(
        held_.stores, [&](const HeldStore& each) { return each.nest == j && each.store == store; });
    if (found != held_.stores.end()) return int(found - held_.stores.begin());
    if (values_ >= most_) return -1;
    ++values_;
    held_.stores.push_back({j, store, true});
    return int(held_.stores.size()) - 1;
  }

  /// Whether other loads from the same registers find the same values in the first step.
  bool has_same_beginning(size_t i, size_t load, int from) const {
    return std::ranges::all_of(held_.loads, [&](const HeldLoad& other) {
      if (other.from != from || !other.before_first) return true;
      const MovingPlace a = place_of(i, load), b = place_of(other.nest, other.load);
      return a.first && b.first && a.first->buffer == b.first->buffer &&
             a.first->offset == b.first->offset &&
             call_of(i, load).row == call_of(other.nest, other.load).row;
    });
  }

  /// Whether anything reads in memory what a store writes, other than loads from registers.
  bool is_read_elsewhere(size_t nest, size_t store) const {
    const int buffer = place_of(nest, store).base.buffer;
    if (is_read_outside(buffer)) return true;
    const Reach reach = reach_of(nest, store);
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (!is_done_[i] && body(i)[in].kind == NestOp::load && may_read(i, in, buffer, reach))
          return true;
      }
    }
    return std::ranges::any_of(exchanges_, [&](const Exchange& each) {
      return each.next_step && reads_first_from(each, buffer);
    });
  }

  /// Whether a load may read these bytes in memory: it is not held, or begins there.
  bool may_read(size_t i, size_t in, int buffer, const Reach& reach) const {
    const NestOperand& form = form_of(i, in);
    if (form.kind != OperandKind::load) return false;
    const MovingPlace place = moving_place(call_of(i, in).address, nests_);
    if (place.first && do_buffers_meet(nests_, place.first->buffer, buffer)) return true;
    if (!is_same_memory(nests_, place.base.buffer, buffer)) return false;
    const int64_t parts = body(i)[in].part + 1;
    if (!reach_of_operand(nests_, i, size_t(body(i)[in].operand), parts).meets(reach)) return false;
    const auto held = std::ranges::find_if(
        held_.loads, [&](const HeldLoad& each) { return each.nest == i && each.load == in; });
    return held == held_.loads.end() || (held->before_first && !place.first);
  }

  /// Whether the first step reads a left operand there. Later ones read what was exchanged.
  bool reads_first_from(const Exchange& exchange, int buffer) const {
    const MovingPlace place =
        moving_place(nests_.nests[exchange.nest]->products[exchange.product].a, nests_);
    return do_buffers_meet(nests_, place.first ? place.first->buffer : place.base.buffer, buffer);
  }

  /// Loads a value a step ahead, if stores of the loop change it only in the step that reads it.
  void load_ahead(size_t i, size_t load) {
    const bool is_held = std::ranges::any_of(
        held_.loads, [&](const HeldLoad& each) { return each.nest == i && each.load == load; });
    if (is_held || values_ >= most_) return;
    bool stays = true;
    visit_writers(i, load, [&](size_t j, size_t operand) {
      stays &= !place_of(i, load).first && place_of(i, load).step != 0 && i <= j &&
               store_for(i, load, j, operand, false).has_value();
    });
    if (!stays) return;
    ++values_;
    held_.loads.push_back({i, load, -1, true});
  }

  const LoopNests& nests_;
  const std::vector<Exchange>& exchanges_;
  const std::vector<bool>& is_done_;
  const int most_;
  int values_ = 0;
  HeldValues held_;
};

}  // namespace

std::vector<size_t> find_pairs(const LoopNests& nests, size_t nest, int64_t units_of_block) {
  const NestProgram& program = nests.program(nest);
  const LoopAccesses accesses(nests);
  const std::vector<size_t> without_rows = find_loads_without_rows(nests, nest);
  std::vector<size_t> pairs;
  if (nests.nests[nest]->unit % 2 != 0 || units_of_block % 2 != 0) return pairs;
  const std::vector<Level> levels = levels_of(program);
  for (size_t i = 0; i < program.body.size(); ++i) {
    const NestInstruction& in = program.body[i];
    if ((in.kind != NestOp::load && in.kind != NestOp::store) || levels[i] != Level::element)
      continue;
    const NestOperand& form = program.operands[size_t(in.operand)];
    const bool is_access = form.kind == OperandKind::load || form.kind == OperandKind::store;
    const bool has_type = form.dtype == DType::f32 || form.dtype == DType::bf16;
    const bool is_as_stored = in.kind == NestOp::store || in.dtype == form.dtype;
    if (is_access && has_type && is_as_stored &&
        (form.by_row || std::ranges::count(without_rows, i) > 0) &&
        form.column == ColumnStep::contiguous &&
        is_aligned(nests, accesses, nest, i, 2 * size_of(form.dtype)))
      pairs.push_back(i);
  }
  return pairs;
}

int HeldValues::values() const {
  return int(stores.size()) + int(std::ranges::count(loads, -1, &HeldLoad::from));
}

bool HeldValues::holds(size_t nest, size_t load) const {
  return std::ranges::any_of(
      loads, [&](const HeldLoad& each) { return each.nest == nest && each.load == load; });
}

std::vector<size_t> find_loads_without_rows(const LoopNests& nests, size_t nest) {
  const LoopAccesses accesses(nests);
  std::vector<size_t> loads;
  for (size_t in = 0; in < accesses.body(nest).size(); ++in) {
    if (accesses.body(nest)[in].kind != NestOp::load) continue;
    const NestOperand& form = accesses.form_of(nest, in);
    if (form.kind == OperandKind::load && !form.by_row && !accesses.place_of(nest, in).first &&
        accesses.is_written_by_none(nest, in))
      loads.push_back(in);
  }
  return loads;
}

HeldValues find_held_values(const LoopNests& nests, const std::vector<Exchange>& exchanges,
                            const std::vector<bool>& is_done, int most) {
  return Holding(nests, exchanges, is_done, most).find();
}

}  // namespace graphc::core::cuda

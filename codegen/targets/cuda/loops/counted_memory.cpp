// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_memory.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "codegen/nest/levels.h"
#include "codegen/step/visit.h"
#include "codegen/targets/cuda/loops/loop_reach.h"

namespace graphc::core::cuda {
namespace {

bool is_written(const NestOperand& operand) {
  return operand.kind != OperandKind::load && operand.kind != OperandKind::iota &&
         operand.kind != OperandKind::literal;
}

/// The place of a load or store of a nest, in bytes.
MovingPlace place_of_access(const LoopNests& nests, size_t nest, const NestInstruction& in) {
  const CallOperand& of = nests.nests[nest]->operands[size_t(in.operand)];
  MovingPlace place = moving_place(of.address, nests);
  place.base.offset += in.part * of.part;
  return place;
}

/// Whether the elements of an access begin at multiples of so many bytes in every row and step.
bool is_aligned(const LoopNests& nests, size_t nest, const NestInstruction& in, int64_t bytes) {
  const MovingPlace place = place_of_access(nests, nest, in);
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

class Holding {
 public:
  Holding(const LoopNests& nests, const std::vector<Exchange>& exchanges, int most)
      : nests_(nests), exchanges_(exchanges), most_(most) {}

  HeldValues find() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (is_element(i, in, NestOp::load)) hold(i, in);
      }
    }
    for (HeldStore& store : held_.stores)
      store.in_memory = is_read_elsewhere(store.nest, store.store);
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      if (!nests_.program(i).products.empty()) continue;
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
  const std::vector<NestInstruction>& body(size_t nest) const { return nests_.program(nest).body; }
  const NestOperand& form_of(size_t nest, size_t in) const {
    return nests_.program(nest).operands[size_t(body(nest)[in].operand)];
  }
  const CallOperand& call_of(size_t nest, size_t in) const {
    return nests_.nests[nest]->operands[size_t(body(nest)[in].operand)];
  }
  MovingPlace place_of(size_t nest, size_t in) const {
    return place_of_access(nests_, nest, body(nest)[in]);
  }

  /// Whether it accesses an element of its own for each row and column.
  bool is_element(size_t nest, size_t in, NestOp kind) const {
    const NestInstruction& instruction = body(nest)[in];
    if (instruction.kind != kind) return false;
    const NestOperand& form = form_of(nest, in);
    const OperandKind wanted = kind == NestOp::load ? OperandKind::load : OperandKind::store;
    return form.kind == wanted && form.column == ColumnStep::contiguous && form.by_row &&
           levels_of(nests_.program(nest))[in] == Level::element;
  }

  /// The type in which it is stored and computed; none where these differ, or where a register
  /// holds more than memory does.
  std::optional<DType> type_of(size_t nest, size_t in) const {
    const NestInstruction& instruction = body(nest)[in];
    const DType dtype = instruction.kind == NestOp::store ? body(nest)[size_t(instruction.a)].dtype
                                                          : instruction.dtype;
    if (dtype != form_of(nest, in).dtype || dtype != DType::f32) return std::nullopt;
    return dtype;
  }

  /// The bytes of one step from its first element on.
  int64_t extent_of(size_t nest, size_t in) const {
    Reach reach{0, size_of(form_of(nest, in).dtype)};
    reach.stretch(call_of(nest, in).row, nests_.nests[nest]->rows);
    reach.stretch(size_of(form_of(nest, in).dtype), nests_.nests[nest]->unit);
    return reach.end - reach.begin;
  }

  Reach reach_of(size_t nest, size_t in) const {
    const int64_t size = size_of(form_of(nest, in).dtype);
    Reach reach = reach_in_all_steps(nests_, place_of(nest, in), size);
    reach.stretch(call_of(nest, in).row, nests_.nests[nest]->rows);
    reach.stretch(size, nests_.nests[nest]->unit);
    return reach;
  }

  /// Whether the elements of different steps are apart, or always the same ones.
  bool has_steps_apart(size_t nest, size_t in) const {
    const MovingPlace place = place_of(nest, in);
    if (place.step != 0 && place.slot != 0) return false;
    const int64_t apart = std::abs(place.step != 0 ? place.step : place.slot);
    const int64_t rows = nests_.nests[nest]->rows;
    // Rows of a step may be among those of others; then they are further apart than all steps.
    return apart == 0 || extent_of(nest, in) <= apart ||
           (rows > 1 && call_of(nest, in).row >= apart * nests_.loop->steps &&
            apart >= size_of(form_of(nest, in).dtype) * nests_.nests[nest]->unit);
  }

  /// Whether a store writes, for each element, what a load reads of it in the same step, or with
  /// `of_next` in the next one.
  bool is_same_element(size_t i, size_t load, size_t j, size_t store, bool of_next) const {
    const MovingPlace from = place_of(i, load), to = place_of(j, store);
    if (to.first || from.base.buffer != to.base.buffer || from.step != to.step ||
        !has_steps_apart(i, load) || !has_steps_apart(j, store))
      return false;
    if (nests_.nests[i]->rows > 1 && call_of(i, load).row != call_of(j, store).row) return false;
    return distance_in_loop(nests_, from, to, of_next, 0) == 0 &&
           distance_in_loop(nests_, from, to, of_next, 1) == 0;
  }

  /// Whether an operand of a nest may write what an access reaches.
  bool may_write(size_t j, size_t operand, const Reach& reach, int buffer) const {
    if (!is_written(nests_.program(j).operands[operand])) return false;
    const MovingPlace place = moving_place(nests_.nests[j]->operands[operand].address, nests_);
    if (place.first && do_buffers_meet(nests_, place.first->buffer, buffer)) return true;
    if (!is_same_memory(nests_, place.base.buffer, buffer)) return false;
    int64_t parts = 1;
    for (const NestInstruction& in : body(j)) {
      if (in.operand == int(operand) && in.kind == NestOp::store)
        parts = std::max<int64_t>(parts, in.part + 1);
    }
    return reach_of_operand(nests_, j, operand, parts).meets(reach);
  }

  /// Calls `visit` with the nest and the operand of all stores that may write what a load reads.
  template <typename Visit>
  void visit_writers(size_t i, size_t load, const Visit& visit) const {
    const Reach reach = reach_of(i, load);
    const int buffer = place_of(i, load).base.buffer;
    for (size_t j = 0; j < nests_.nests.size(); ++j) {
      for (size_t operand = 0; operand < nests_.nests[j]->operands.size(); ++operand) {
        if (may_write(j, operand, reach, buffer)) visit(j, operand);
      }
    }
  }

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
    const Buffer& memory = nests_.plan->buffers[size_t(buffer)];
    if (memory.place != Place::arena) return true;
    // The next step of a loop around this one may read it, at another place than this step does.
    if (nests_.depth > 0 && (memory.scope < 0 || memory.scope != nests_.loop->id)) return true;
    if (is_used_outside(nests_.plan->records, buffer)) return true;
    const Reach reach = reach_of(nest, store);
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t in = 0; in < body(i).size(); ++in) {
        if (body(i)[in].kind == NestOp::load && may_read(i, in, buffer, reach)) return true;
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

  bool is_used_outside(const std::vector<Record>& records, int buffer) const {
    return std::ranges::any_of(records, [&](const Record& record) {
      const auto* loop = std::get_if<LoopCall>(&record.call);
      if (loop == nests_.loop) return false;
      if (loop != nullptr) return is_used_outside(loop->body, buffer);
      bool used = false;
      visit_addresses(record, [&](const Address& address) { used |= address.buffer == buffer; });
      return used;
    });
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
  const int most_;
  int values_ = 0;
  HeldValues held_;
};

}  // namespace

std::vector<size_t> find_pairs(const LoopNests& nests, size_t nest, int64_t units_of_block) {
  const NestProgram& program = nests.program(nest);
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
    if (is_access && has_type && is_as_stored && form.by_row &&
        form.column == ColumnStep::contiguous &&
        is_aligned(nests, nest, in, 2 * size_of(form.dtype)))
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

HeldValues find_held_values(const LoopNests& nests, const std::vector<Exchange>& exchanges,
                            int most) {
  return Holding(nests, exchanges, most).find();
}

}  // namespace graphc::core::cuda

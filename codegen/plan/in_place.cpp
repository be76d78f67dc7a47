// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/in_place.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/step/view.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// The nests of a record whose rows or elements are private to a thread; empty for other records.
std::vector<const NestCall*> private_nests(const Record& record) {
  std::vector<const NestCall*> calls;
  const auto add_body = [&](const std::vector<Record>& body) {
    for (const Record& inner : body) {
      const auto* nest = std::get_if<NestCall>(&inner.call);
      if (nest == nullptr) {
        calls.clear();
        return;
      }
      calls.push_back(nest);
    }
  };
  if (auto nest = std::get_if<NestCall>(&record.call)) calls.push_back(nest);
  if (auto block = std::get_if<BlockCall>(&record.call)) add_body(block->body);
  if (auto loop = std::get_if<LoopCall>(&record.call); loop != nullptr && loop->private_rows)
    add_body(loop->body);
  return calls;
}

/// One operand of one call.
struct OperandOfCall {
  size_t call;
  size_t operand;
};

class InPlace {
 public:
  InPlace(const Plan& plan, const Record& record, int depth, int result, int operand,
          const std::function<int(int)>& place_of, StepsOf steps)
      : plan_(plan),
        calls_(private_nests(record)),
        own_loop_(own_steps(record) > 1 ? depth : -1),
        loop_around_(steps == StepsOf::loop_around ? depth - 1 : -1),
        result_(result),
        operand_(operand),
        place_of_(place_of) {}

  bool legal() {
    std::vector<OperandOfCall> uses, stores;
    for (size_t c = 0; c < calls_.size(); ++c) {
      if (!scan_call(c, uses, stores)) return false;
    }
    if (stores.size() != 1) return false;
    return std::ranges::all_of(uses,
                               [&](const OperandOfCall& use) { return before(use, stores[0]); });
  }

 private:
  static int64_t own_steps(const Record& record) {
    const auto* loop = std::get_if<LoopCall>(&record.call);
    return loop == nullptr ? 1 : loop->steps;
  }

  const NestProgram& program(size_t call) const {
    return plan_.programs[size_t(calls_[call]->program)];
  }
  const CallOperand& at(const OperandOfCall& a) const {
    return calls_[a.call]->operands[a.operand];
  }

  bool is(const Address& address, int buffer) const {
    return address.buffer >= 0 && place_of_(address.buffer) == buffer;
  }
  bool touches(const Address& address) const {
    return is(address, operand_) || (address.at_first && touches(*address.at_first));
  }

  /// Collects loads and stores of the operand, which the record may compute itself, and stores of
  /// the result; returns false for any other use of either.
  bool scan_call(size_t c, std::vector<OperandOfCall>& uses,
                 std::vector<OperandOfCall>& stores) const {
    for (const CallProduct& product : calls_[c]->products) {
      if (touches(product.a) || touches(product.b)) return false;
    }
    for (size_t i = 0; i < calls_[c]->operands.size(); ++i) {
      const Address& address = calls_[c]->operands[i].address;
      const OperandKind kind = program(c).operands[i].kind;
      if (touches(address)) {
        const bool element = kind == OperandKind::load || kind == OperandKind::store;
        if (!element || address.at_first) return false;
        uses.push_back({c, i});
      }
      if (is(address, result_) && kind != OperandKind::load) {
        if (kind != OperandKind::store) return false;
        stores.push_back({c, i});
      }
    }
    return true;
  }

  /// Whether the use and the store address the same elements, and each element is read, or written
  /// for the last time, before it is overwritten.
  bool before(const OperandOfCall& use, const OperandOfCall& store) const {
    const CallOperand &x = at(use), &y = at(store);
    const NestCall &a = *calls_[use.call], &b = *calls_[store.call];
    const NestOperand& p = program(use.call).operands[use.operand];
    const NestOperand& q = program(store.call).operands[store.operand];
    const bool same_place = x.address.offset == y.address.offset && x.row == y.row &&
                            x.part == y.part && x.column == y.column && x.outer == y.outer &&
                            x.address.terms == y.address.terms && y.address.at_first == nullptr;
    const bool same_extent = a.rows == b.rows && a.unit == b.unit && a.outer == b.outer;
    // A single number that stands for a whole row is written once but read with every column.
    const bool same_form = p.column == q.column && p.by_row == q.by_row && p.dtype == q.dtype &&
                           (p.column != ColumnStep::none || a.unit == 1);
    if (!same_place || !same_extent || !same_form || !own_elements(store)) return false;
    if (mutated(Mutant::operand_overwritten_early)) return true;
    for (const int loop : {own_loop_, loop_around_}) {
      if (loop >= 0 && !moves_on(y.address, loop) &&
          !mutated(Mutant::operand_of_all_steps_overwritten))
        return false;
    }
    if (mutated(Mutant::kept_value_overwritten_early)) return true;
    if (use.call != store.call) return use.call < store.call;
    return p.kind == OperandKind::load && loaded_first(use, store);
  }

  /// Whether no two rows, and no two outer indices, are stored to the same place.
  bool own_elements(const OperandOfCall& store) const {
    const CallOperand& operand = at(store);
    const NestCall& call = *calls_[store.call];
    if (call.rows > 1 && (operand.row == 0 || !program(store.call).operands[store.operand].by_row))
      return false;
    for (size_t axis = 0; axis < call.outer.size(); ++axis) {
      if (call.outer[axis] > 1 && operand.outer[axis] == 0) return false;
    }
    return true;
  }

  /// Whether each step of the loop has elements of its own.
  static bool moves_on(const Address& address, int loop) {
    return std::ranges::any_of(address.terms, [&](const Address::Term& term) {
      return term.loop == loop && term.step != 0;
    });
  }

  /// Within one body: whether no part is loaded after it has been stored.
  bool loaded_first(const OperandOfCall& load, const OperandOfCall& store) const {
    std::vector<int> stored;
    for (const NestInstruction& in : program(load.call).body) {
      if (in.kind == NestOp::store && size_t(in.operand) == store.operand)
        stored.push_back(in.part);
      if (in.kind == NestOp::load && size_t(in.operand) == load.operand &&
          std::ranges::find(stored, in.part) != stored.end()) {
        return false;
      }
    }
    return true;
  }

  const Plan& plan_;
  const std::vector<const NestCall*> calls_;
  const int own_loop_;     ///< depth of the loop that the record is, if it has several steps
  const int loop_around_;  ///< of the loop around the record, where the buffers live outside of it
  const int result_, operand_;
  const std::function<int(int)>& place_of_;
};

}  // namespace

bool replaces_in_place(const Plan& plan, const Record& record, int depth, int result, int operand,
                       const std::function<int(int)>& place_of, StepsOf steps) {
  return InPlace(plan, record, depth, result, operand, place_of, steps).legal();
}

}  // namespace graphc::core

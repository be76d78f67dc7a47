// SPDX-License-Identifier: Apache-2.0
// Overwriting: a kernel's result takes the place of an operand that dies in it, when every element
// of the operand is read before the same element of the result is written, and nothing else of the
// operand is read. So pre-gates, gates and their gradients are three values in one buffer.
#include <algorithm>

#include "codegen/plan.h"
#include "codegen/plan_visit.h"
#include "ir/mutant.h"

namespace graphc {
namespace {

/// The nests of a record whose rows, or elements, are private to a thread; empty for others.
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
  if (auto loop = std::get_if<LoopCall>(&record.call); loop != nullptr && loop->private_rows) {
    add_body(loop->body);
  }
  return calls;
}

/// One operand of one call.
struct Access {
  size_t call;
  size_t operand;
};

class Candidate {
 public:
  Candidate(const Plan& plan, std::vector<const NestCall*> calls, int result, int operand)
      : plan_(plan), calls_(std::move(calls)), result_(result), operand_(operand) {}

  bool legal() {
    std::vector<Access> loads, stores;
    for (size_t c = 0; c < calls_.size(); ++c) {
      if (!scan_call(c, loads, stores)) return false;
    }
    if (loads.empty() || stores.size() != 1) return false;
    return std::ranges::all_of(loads, [&](const Access& load) { return before(load, stores[0]); });
  }

 private:
  const NestProgram& program(size_t call) const {
    return plan_.programs[size_t(calls_[call]->program)];
  }
  const CallOperand& at(const Access& a) const { return calls_[a.call]->operands[a.operand]; }

  bool touches(const Address& address) const {
    return address.buffer == operand_ || (address.at_first && touches(*address.at_first));
  }

  /// Collects loads of the operand and stores of the result; false for any other use of the
  /// operand.
  bool scan_call(size_t c, std::vector<Access>& loads, std::vector<Access>& stores) const {
    for (const CallProduct& product : calls_[c]->products) {
      if (touches(product.a) || touches(product.b)) return false;
    }
    for (size_t i = 0; i < calls_[c]->operands.size(); ++i) {
      const Address& address = calls_[c]->operands[i].address;
      const OperandKind kind = program(c).operands[i].kind;
      if (touches(address)) {
        if (kind != OperandKind::load || address.at_first) return false;
        loads.push_back({c, i});
      }
      if (address.buffer == result_ && kind != OperandKind::load) {
        if (kind != OperandKind::store) return false;
        stores.push_back({c, i});
      }
    }
    return true;
  }

  /// Whether the load and the store are of the same elements, and each is read before it is
  /// written.
  bool before(const Access& load, const Access& store) const {
    const CallOperand &x = at(load), &y = at(store);
    const NestCall &a = *calls_[load.call], &b = *calls_[store.call];
    const NestOperand& p = program(load.call).operands[load.operand];
    const NestOperand& q = program(store.call).operands[store.operand];
    const bool same_place = x.address.offset == y.address.offset && x.row == y.row &&
                            x.part == y.part && x.column == y.column && x.outer == y.outer &&
                            same_terms(x.address, y.address) && y.address.at_first == nullptr;
    const bool same_extent = a.rows == b.rows && a.unit == b.unit && a.outer == b.outer;
    const bool same_form = p.column == ColumnStep::contiguous &&
                           q.column == ColumnStep::contiguous && p.by_row == q.by_row &&
                           p.dtype == q.dtype;
    if (!same_place || !same_extent || !same_form) return false;
    if (mutated(Mutant::operand_overwritten_early)) return true;
    return load.call < store.call || (load.call == store.call && loaded_first(load, store));
  }

  static bool same_terms(const Address& a, const Address& b) {
    return std::ranges::equal(a.terms, b.terms, [](const Address::Term& s, const Address::Term& t) {
      return s.loop == t.loop && s.step == t.step && s.parity == t.parity;
    });
  }

  /// In one body: no part is loaded after it has been stored.
  bool loaded_first(const Access& load, const Access& store) const {
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
  const int result_, operand_;
};

void rename(Plan& plan, int from, int to) {
  for (Record& record : plan.records) {
    change_addresses(record, [&](Address& address) {
      if (address.buffer == from) address.buffer = to;
    });
  }
  plan.buffers[size_t(to)].last_phase = plan.buffers[size_t(from)].last_phase;
  plan.buffers[size_t(to)].name += "/" + plan.buffers[size_t(from)].name;
  plan.buffers[size_t(from)].first_phase = plan.buffers[size_t(from)].last_phase = -1;
}

}  // namespace

void overwrite(Plan& plan) {
  // Buffers by the phase in which they begin and end, so that a long plan is gone through once.
  std::vector<std::vector<int>> beginning(size_t(plan.phases)), ending(size_t(plan.phases));
  const auto note = [&](int index) {
    const Buffer& buffer = plan.buffers[size_t(index)];
    if (buffer.place != Place::arena || buffer.first_phase < 0) return;
    beginning[size_t(buffer.first_phase)].push_back(index);
    ending[size_t(buffer.last_phase)].push_back(index);
  };
  for (size_t i = 0; i < plan.buffers.size(); ++i) note(int(i));
  std::vector<std::pair<const Record*, int>> phases;
  visit_phases(plan.records,
               [&](const Record& record, int scope) { phases.emplace_back(&record, scope); });
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    const auto [record, scope] = phases[phase];
    const std::vector<const NestCall*> calls = private_nests(*record);
    if (calls.empty()) continue;
    for (int result : beginning[phase]) {
      for (int operand : ending[phase]) {
        const Buffer &r = plan.buffers[size_t(result)], &o = plan.buffers[size_t(operand)];
        // What a loop does not make anew in each step is needed in the next.
        if (r.scope != scope || o.scope != scope) continue;
        // Taken by another result, or made in this very phase.
        if (o.last_phase != int(phase) || o.first_phase == int(phase)) continue;
        if (r.bytes != o.bytes || !Candidate(plan, calls, result, operand).legal()) continue;
        const int last = r.last_phase;
        rename(plan, result, operand);
        ending[size_t(last)].push_back(operand);
        break;
      }
    }
  }
}

}  // namespace graphc

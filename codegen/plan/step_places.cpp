// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/step_places.h"

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/plan/in_place.h"
#include "codegen/step/access.h"
#include "codegen/step/visit.h"

namespace graphc::core {
namespace {

/// The uses of a buffer by the records of a step.
struct StepUses {
  std::vector<size_t> reads, writes;  ///< indices of records, in order
  bool elsewhere = false;             ///< used in a loop inside the step, or with several places
};

class StepPlaces {
 public:
  explicit StepPlaces(Plan& plan) : plan_(plan) {}

  void run() { visit(plan_.records, 0); }

 private:
  void visit(std::vector<Record>& records, int depth) {
    for (Record& record : records) {
      if (loop_of_phases(record) == nullptr) continue;
      auto& loop = std::get<LoopCall>(record.call);
      visit(loop.body, depth + 1);
      if (loop.matrices) place_values(loop, depth + 1);
    }
  }

  void place_values(LoopCall& loop, int depth) {
    std::map<int, StepUses> uses = uses_in(loop.body);
    for (const Carry& carry : loop.carries) {
      const auto found = uses.find(carry.now);
      if (found == uses.end()) continue;
      const auto value = std::ranges::find_if(uses, [&](const auto& use) {
        const Buffer& buffer = plan_.buffers[size_t(use.first)];
        return buffer.scope == loop.id && buffer.place == Place::arena &&
               buffer.bytes == plan_.buffers[size_t(carry.now)].bytes &&
               fits(loop.body, depth, carry.now, found->second, use.first, use.second);
      });
      if (value == uses.end()) continue;
      for (Record& record : loop.body) {
        change_addresses(record, [&](Address& address) {
          if (address.buffer == value->first) address.buffer = carry.now;
        });
      }
      // What is known of the uses of either is no longer so.
      uses.erase(value);
      uses.erase(carry.now);
    }
  }

  std::map<int, StepUses> uses_in(const std::vector<Record>& body) const {
    std::map<int, StepUses> uses;
    for (size_t i = 0; i < body.size(); ++i) {
      if (loop_of_phases(body[i]) != nullptr) {
        visit_addresses(body[i],
                        [&](const Address& address) { uses[address.buffer].elsewhere = true; });
        continue;
      }
      visit_accesses(plan_, body[i], [&](const Access& access) {
        StepUses& own = uses[access.address->buffer];
        (access.mode == AccessMode::read ? own.reads : own.writes).push_back(i);
        own.elsewhere |= !access.address->terms.empty();
        if (access.address->at_first)
          visit_reads(*access.address,
                      [&](const Address& address) { uses[address.buffer].elsewhere = true; });
      });
    }
    return uses;
  }

  /// Whether the value may lie in the carry's place from the record that writes it on.
  bool fits(const std::vector<Record>& body, int depth, int carry, const StepUses& of_carry,
            int value, const StepUses& of_value) const {
    if (of_carry.elsewhere || of_value.elsewhere) return false;
    if (of_carry.writes.size() != 1 || of_value.writes.size() != 1 || of_carry.reads.empty())
      return false;
    const size_t made = of_value.writes[0], next = of_carry.writes[0];
    const auto is_read_outside = [&](size_t read) { return read < made || read > next; };
    if (made >= next || std::ranges::any_of(of_value.reads, is_read_outside)) return false;
    // What follows `next` reads the next value.
    if (std::ranges::any_of(of_carry.reads,
                            [&](size_t read) { return read > made && read <= next; }))
      return false;
    const auto in_place = [&](size_t record, int result, int operand) {
      return replaces_in_place(plan_, body[record], depth, result, operand,
                               [](int buffer) { return buffer; });
    };
    const bool reads_carry = std::ranges::count(of_carry.reads, made) > 0;
    const bool reads_value = std::ranges::count(of_value.reads, next) > 0;
    // Else their rows may lie in another order, and rows would not stay apart.
    if (!reads_carry && !reads_value) return false;
    return (!reads_carry || in_place(made, value, carry)) &&
           (!reads_value || in_place(next, carry, value));
  }

  Plan& plan_;
};

}  // namespace

void place_in_carries(Plan& plan) { StepPlaces(plan).run(); }

}  // namespace graphc::core

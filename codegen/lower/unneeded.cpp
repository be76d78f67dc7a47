// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/unneeded.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/step/access.h"
#include "codegen/step/visit.h"
#include "ir/build.h"
#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// Whether an address lies in the carry that a step finds at `carry`. One that reads its own
/// history has its initial value as the place of the first iteration; any other has a buffer to
/// itself.
bool is_in_carry(const Address& address, const Address& carry) {
  if (address.buffer != carry.buffer || bool(address.at_first) != bool(carry.at_first))
    return false;
  return !carry.at_first || (address.first_loop == carry.first_loop &&
                             address.at_first->buffer == carry.at_first->buffer);
}

/// Whether a record does nothing but write numbers. Rows by index are looked at too, and a wrong
/// index is an error in any step.
bool only_computes(const Record& record) {
  return std::holds_alternative<NestCall>(record.call) ||
         std::holds_alternative<BlockCall>(record.call);
}

/// What the records of a body read and write, by buffer.
struct BodyAccesses {
  BodyAccesses(const Plan& plan, const std::vector<Record>& body) : reads(body.size()) {
    for (size_t i = 0; i < body.size(); ++i) {
      visit_accesses(plan, body[i], [&](const Access& access) {
        if (access.writes()) return writers[access.address->buffer].push_back(i);
        visit_reads(*access.address, [&](const Address& each) { reads[i].push_back(each.buffer); });
      });
    }
  }

  std::vector<std::vector<int>> reads;         ///< by record
  std::map<int, std::vector<size_t>> writers;  ///< by buffer
};

}  // namespace

void mark_zero_products(const LowerContext& context, std::span<const Value> initial,
                        const ScanViews& bound, size_t streams, std::vector<NestCall>& calls) {
  if (!context.machine().leaves_out_unneeded) return;
  for (size_t c = 0; c < initial.size(); ++c) {
    if (!is_splat(initial[c], 0) && !mutated(Mutant::first_recurrent_product_dropped)) continue;
    const Address& carry = bound.inputs[streams + c].address;
    GRAPHC_CHECK(!carry.at_first || carry.first_loop == context.depth(),
                 "%{} begins in another loop", initial[c].name());
    for (NestCall& call : calls) {
      for (CallProduct& product : call.products)
        product.zeros_at_first |= product.in_panels && is_in_carry(product.a, carry);
    }
  }
}

void mark_idle_at_last(const LowerContext& context, const Scan& scan, const Node& node,
                       const ScanViews& bound, int first_buffer, std::vector<Record>& body) {
  if (!context.machine().leaves_out_unneeded) return;
  std::set<int> unwanted;
  const int emits = int(scan.emits().size());
  for (size_t c = 0; c < scan.next().size(); ++c) {
    const bool is_used =
        context.is_used(node.result(emits + int(c))) && !mutated(Mutant::final_carry_left_out);
    // The next value of a carry that is emitted lies among the emitted.
    if (!is_used && !bound.inputs[scan.streams().size() + c].address.at_first)
      unwanted.insert(bound.results[c].address.buffer);
  }
  const BodyAccesses accesses(context.plan(), body);
  std::vector<size_t> needed;
  const auto need = [&](size_t i) {
    if (!std::exchange(body[i].idle_at_last, false)) return;
    needed.push_back(i);
  };
  for (Record& record : body) record.idle_at_last = true;
  for (size_t i = 0; i < body.size(); ++i) {
    if (!only_computes(body[i])) need(i);
  }
  for (const auto& [buffer, writers] : accesses.writers) {
    if (buffer >= first_buffer || unwanted.contains(buffer)) continue;
    for (const size_t i : writers) need(i);
  }
  while (!needed.empty()) {
    const size_t reader = needed.back();
    needed.pop_back();
    for (const int buffer : accesses.reads[reader]) {
      const auto writers = accesses.writers.find(buffer);
      if (writers == accesses.writers.end()) continue;
      for (const size_t i : writers->second) need(i);
    }
  }
}

}  // namespace graphc::core

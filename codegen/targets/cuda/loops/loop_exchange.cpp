// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_exchange.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "codegen/targets/cuda/loops/loop_reach.h"

namespace graphc::core::cuda {
namespace {

class Finding {
 public:
  Finding(const LoopNests& nests, const std::vector<Owner>& owners)
      : nests_(nests), owners_(owners) {}

  std::vector<Exchange> find() {
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t p = 0; p < nests_.nests[i]->products.size(); ++p) {
        for (const bool next_step : {false, true}) {
          Exchange exchange{i, p, next_step, {}};
          if (!is_made(exchange)) continue;
          found_.push_back(std::move(exchange));
          break;
        }
      }
    }
    return std::move(found_);
  }

 private:
  /// Finds the stores; returns false if anything else writes a part of the operand.
  bool is_made(Exchange& exchange) const {
    const NestCall& call = *nests_.nests[exchange.nest];
    const CallProduct& product = call.products[exchange.product];
    const NestProduct& form = nests_.program(exchange.nest).products[exchange.product];
    // What is stored as bf16 is exchanged as the f32 of that value, or as a factor. Without terms
    // there is nothing to exchange.
    const bool is_exchangeable = form.left == form.sum || form.left == DType::bf16;
    if (!is_exchangeable || product.a_k <= 0 || product.panels.k == 0) return false;
    const Reach reach = reach_of(exchange);
    std::vector<std::pair<int64_t, int64_t>> terms;
    for (size_t i = 0; i < nests_.nests.size(); ++i) {
      for (size_t operand = 0; operand < nests_.nests[i]->operands.size(); ++operand) {
        if (!may_write(i, operand, exchange, reach)) continue;
        const int64_t first = first_term(exchange, i, operand);
        if (first < 0) return false;
        const int64_t count = parts_of(i, operand) * nests_.nests[i]->unit;
        exchange.stores.push_back({i, int(operand), first, count});
        terms.emplace_back(first, count);
      }
    }
    std::ranges::sort(terms);
    int64_t end = 0;
    for (const auto& [first, count] : terms) {
      if (first != end) return false;
      end += count;
    }
    return end == product.panels.k;
  }

  Reach reach_of(const Exchange& exchange) const {
    const NestCall& call = *nests_.nests[exchange.nest];
    const CallProduct& product = call.products[exchange.product];
    const MovingPlace place = moving_place(product.a, nests_);
    Reach reach = reach_in_all_steps(
        nests_, place, size_of(nests_.program(exchange.nest).products[exchange.product].left));
    reach.stretch(product.a_row, call.rows);
    reach.stretch(product.a_k, product.panels.k);
    return reach;
  }

  /// Whether an operand of a nest may write memory of the left operand.
  bool may_write(size_t i, size_t index, const Exchange& exchange, const Reach& left) const {
    const NestCall& call = *nests_.nests[i];
    const NestOperand& form = nests_.program(i).operands[index];
    if (form.kind == OperandKind::load || form.kind == OperandKind::iota ||
        form.kind == OperandKind::literal)
      return false;
    const MovingPlace place = moving_place(call.operands[index].address, nests_);
    const int left_buffer =
        moving_place(nests_.nests[exchange.nest]->products[exchange.product].a, nests_).base.buffer;
    if (place.first && is_same_memory(nests_, place.first->buffer, left_buffer)) return true;
    if (!is_same_memory(nests_, place.base.buffer, left_buffer)) return false;
    return reach_of_operand(nests_, i, index, parts_of(i, index)).meets(left);
  }

  int64_t parts_of(size_t i, size_t operand) const {
    std::set<int> parts;
    for (const NestInstruction& in : nests_.program(i).body) {
      if (in.kind == NestOp::store && in.operand == int(operand)) parts.insert(in.part);
    }
    // No gaps between parts: elements of an omitted part would be written by no store.
    return !parts.empty() && *parts.rbegin() + 1 == int(parts.size()) ? int64_t(parts.size()) : 0;
  }

  /// The term of the left operand that a store's first element is, the same in all steps; -1 if the
  /// store does not have that form.
  int64_t first_term(const Exchange& exchange, size_t i, size_t index) const {
    const NestCall &call = *nests_.nests[i], &reader = *nests_.nests[exchange.nest];
    const CallProduct& product = reader.products[exchange.product];
    const NestProgram& program = nests_.program(i);
    const NestOperand& form = program.operands[index];
    const CallOperand& operand = call.operands[index];
    const int64_t column =
        form.column == ColumnStep::contiguous ? size_of(form.dtype) : operand.column;
    const int64_t parts = parts_of(i, index);
    const bool is_element = form.kind == OperandKind::store && owners_[i] == Owner::element &&
                            program.kind != NestKind::column_wise && form.by_row &&
                            form.column != ColumnStep::none && parts > 0;
    if (!is_element || call.rows != reader.rows || column != product.a_k ||
        form.dtype != nests_.program(exchange.nest).products[exchange.product].left ||
        (call.rows > 1 && operand.row != product.a_row) ||
        (parts > 1 && operand.part != call.unit * column) ||
        (!exchange.next_step && i >= exchange.nest))
      return -1;
    const MovingPlace left = moving_place(product.a, nests_);
    const MovingPlace stored = moving_place(operand.address, nests_);
    if (stored.first || (left.first && !exchange.next_step) || stored.step != left.step ||
        stored.base.buffer != left.base.buffer)
      return -1;
    const std::array<int64_t, 2> apart{
        distance_in_loop(nests_, left, stored, exchange.next_step, 0),
        distance_in_loop(nests_, left, stored, exchange.next_step, 1)};
    if (apart[0] != apart[1] || apart[0] < 0 || apart[0] % product.a_k != 0) return -1;
    const int64_t first = apart[0] / product.a_k;
    return first + parts * call.unit <= product.panels.k ? first : -1;
  }

  const LoopNests& nests_;
  const std::vector<Owner>& owners_;
  std::vector<Exchange> found_;
};

}  // namespace

std::vector<Exchange> find_exchanges(const LoopNests& nests, const std::vector<Owner>& owners) {
  return Finding(nests, owners).find();
}

}  // namespace graphc::core::cuda

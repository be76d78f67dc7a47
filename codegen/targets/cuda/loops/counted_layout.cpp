// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/counted_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphc::core::cuda {
namespace {

/// Registers of a lane for right fragments, of all products of a loop: beside the sums of fused
/// multiply-adds more than 80 spill.
constexpr int kWeightRegisters = 112, kFmaWeightRegisters = 80;
/// Registers of a lane for weights, sums and what it keeps between nests and steps, if shared
/// memory has room for the other weights. With more, loops of LSTMs with peepholes and of GRUs of
/// 256 and 512 units spill on sm_90a. Loops through memory have few addresses beside them, but more
/// for each further product.
constexpr int kKeptRegisters = 144, kKeptThroughMemory = 160, kFurtherProduct = 48;

class Layout {
 public:
  Layout(CountedLoop& loop, int64_t room) : loop_(loop), room_(room) {}

  /// Puts as few weights into registers beside all else as let the others have room; in a cluster
  /// those that all else leaves, or as many as there can be.
  std::string lay_out() {
    const int kept = loop_.through_memory
                         ? kKeptThroughMemory - kFurtherProduct * (int(loop_.products.size()) - 1)
                         : kKeptRegisters;
    const int most = loop_.uses_fma() ? kFmaWeightRegisters : kWeightRegisters;
    const int more = loop_.through_memory ? 8 : most;
    std::string reason;
    for (int registers = std::clamp(kept - kept_beside_weights(), 0, most);;
         registers = std::min(registers + more, most)) {
      reason = lay_out(registers);
      if (reason.empty() || registers == most) return reason;
    }
  }

 private:
  /// Registers of a lane for the sums of a product, for what it loads ahead of them, and for what
  /// it keeps between nests and steps.
  int kept_beside_weights() const {
    int most = loop_.registers_of_rows;
    for (const CountedProduct& product : loop_.products)
      most = std::max(most, product.sums() + product.registers_ahead());
    return most + int(loop_.rows.numbers.size()) * loop_.rows_of_lane +
           loop_.held.values() * 2 * loop_.rows_of_lane * loop_.nests[0].tiles_of_warp;
  }

  /// Right fragments go to registers as far as there are any, and then to shared memory.
  std::string lay_out(int registers) {
    for (CountedProduct& product : loop_.products) {
      product.in_registers =
          std::min(product.steps_of_warp, std::max(registers, 0) / product.words_of_step);
      registers -= product.in_registers * product.words_of_step;
      product.operand_words = int64_t{loop_.row_tiles} * product.steps * 32 * product.left_words();
    }
    loop_.through_memory ? place_through_memory() : place_in_cluster();
    // Right fragments are there before everything else, of one step at least.
    for (const CountedProduct& product : loop_.products)
      loop_.words = std::max(loop_.words, product.staged_at + product.staged_words_of_step());
    if (loop_.words * 4 > room_)
      return fmt::format("its matrices and operands take {} bytes of a block", loop_.words * 4);
    stage_all_at_once();
    return {};
  }

  void place_weights(CountedProduct& product) {
    product.weights_at = loop_.words;
    product.weights_words =
        (product.steps_of_warp - product.in_registers) * product.staged_words_of_step();
    loop_.words += product.weights_words;
  }

  /// What the warps of a block have of each row, in a cluster two copies, and two copies of what
  /// blocks send: who sends for the use after next has received all of the next one, or met the
  /// blocks for it.
  void place_exchange(RowExchange& exchange) {
    const int64_t rows = int64_t{loop_.row_tiles} * loop_.tile_rows() * exchange.width();
    exchange.of_warps_at = loop_.words;
    loop_.words += (loop_.through_memory ? 1 : 2) * rows * loop_.nests[exchange.nest].warps;
    int64_t& at = loop_.through_memory ? loop_.exchange_words : loop_.words;
    exchange.inbox_at = at;
    at += 2 * rows * loop_.blocks;
  }

  /// mbarriers, then each product's operand, partial sums and weights, then what is of exchanges of
  /// numbers of rows, then the sums of splits.
  void place_in_cluster() {
    loop_.words = 4 * int64_t(loop_.products.size() + loop_.rows.exchanges.size());
    for (CountedProduct& product : loop_.products) {
      product.operand_at = product.staged_at = loop_.words;
      loop_.words += product.copies * product.operand_words;
      product.inbox_at = loop_.words;
      product.inbox_words = product.scatters ? product.bytes_of_use / 4 : 0;
      loop_.words += product.copies * product.inbox_words;
      place_weights(product);
    }
    for (RowExchange& exchange : loop_.rows.exchanges) place_exchange(exchange);
    // Nests whose warps meet in between use the same memory for the sums of splits.
    const int64_t sums_at = loop_.words;
    for (size_t i = 0; i < loop_.nests.size(); ++i) {
      int64_t at = loop_.same_lanes ? loop_.words : sums_at;
      for (CountedProduct& product : loop_.products) {
        if (product.nest != i || product.lanes.splits() == 1) continue;
        product.sums_at = at;
        at += 2 * int64_t{product.words_of_step} * loop_.rows_of_lane * 32 * kCountedWarps;
      }
      loop_.words = std::max(loop_.words, at);
    }
  }

  /// The weights, then the partial sums of warps. All blocks meet between nests with products, so
  /// that these use the same memory.
  void place_through_memory() {
    loop_.words = loop_.exchange_words = 0;
    for (CountedProduct& product : loop_.products) {
      product.operand_at = loop_.exchange_words;
      loop_.exchange_words += 2 * product.operand_words;
      product.staged_at = loop_.words;
      place_weights(product);
    }
    for (RowExchange& exchange : loop_.rows.exchanges) place_exchange(exchange);
    const int64_t sums_at = loop_.words;
    for (size_t i = 0; i < loop_.nests.size(); ++i) {
      int64_t at = sums_at;
      for (CountedProduct& product : loop_.products) {
        if (product.nest != i) continue;
        if (product.uses_fma()) {
          product.ahead_at = at;
          product.ahead_words = int64_t{product.steps_ahead()} * 32 * product.left_words();
          at += kCountedWarps * product.ahead_words;
        }
        product.inbox_at = at;
        product.inbox_words = int64_t{product.lanes.splits()} * loop_.row_tiles *
                              loop_.nests[i].unit_tiles * product.parts * 32 * product.left_words();
        at += product.inbox_words;
      }
      loop_.words = std::max(loop_.words, at);
    }
  }

  /// Takes what memory there is for the right fragments on their way to registers: filled in one
  /// turn, registers of earlier turns are not beside those for the loads of later ones.
  void stage_all_at_once() {
    for (const CountedProduct& product : loop_.products) {
      const int64_t wanted =
          product.staged_at + product.in_registers * product.staged_words_of_step();
      loop_.words = std::max(loop_.words, std::min(wanted, room_ / 4));
    }
  }

  CountedLoop& loop_;
  const int64_t room_;
};

}  // namespace

std::string lay_out_counted(CountedLoop& loop, int64_t room) {
  return Layout(loop, room).lay_out();
}

}  // namespace graphc::core::cuda

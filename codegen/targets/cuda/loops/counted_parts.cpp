// SPDX-License-Identifier: Apache-2.0
// What follows from the plan of a counted loop (counted_loop.h): counts, and a model of its time.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/targets/cuda/loops/counted_loop.h"
#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/product_text.h"

namespace graphc::core::cuda {
namespace {

/// Right fragments that a lane loads from memory at a time, in words. With twice as many a text
/// takes a third more to compile.
constexpr int kFilledTogether = 16;
/// Steps of a product whose left fragments a lane loads from memory together, while it multiplies
/// by those of as many steps before: 32 registers. Fused multiply-adds take longer for a step, and
/// words that are multiplied lie in shared memory.
constexpr int kStepsAhead = 8, kFmaStepsAhead = 4;
/// Sums of a lane by fused multiply-adds at a time: beside them are as many weights as fit.
constexpr int kFmaSums = 64;
/// Sums of a lane for a tile of rows, of one product, those of pieces included.
constexpr int kMostCountedSums = 64;
/// Instructions in which the lanes of a column add the sums of eight rows.
constexpr int kInstructionsOfSums = 40;

}  // namespace

int CountedProduct::words_of_send(const CountedStore& store) const {
  const bool whole = strips_of_step() == 1 || (strips_of_block % 2 == 0 &&
                                               store.first_strip % 2 == 0 && store.parts % 2 == 0);
  return whole ? left_words() : rows_of_lane;
}

int CountedProduct::steps_filled_together() const {
  return std::max(kFilledTogether / words_of_step, 1);
}

int CountedLoop::left_turns(const CountedProduct& product) const {
  const int64_t threads = int64_t{32} * kCountedWarps * (through_memory ? blocks : 1);
  return rounded_quotient(product.operand_words, threads);
}

int CountedProduct::busy_warps() const {
  if (scatters || lanes.splits() > 1) return kCountedWarps;
  return rounded_quotient(lanes.unit_tiles, lanes.tiles_of_warp);
}

int64_t CountedProduct::staged_words_of_step() const {
  return int64_t{busy_warps()} * loads_of_step() * 128;
}

int CountedLoop::steps_staged(const CountedProduct& product) const {
  return int((words - product.staged_at) / product.staged_words_of_step());
}

bool CountedLoop::uses_fma() const {
  return std::ranges::any_of(products, &CountedProduct::uses_fma);
}

bool CountedLoop::multiplies_from_memory(size_t nest) const {
  return through_memory &&
         std::ranges::find(products, nest, &CountedProduct::nest) != products.end();
}

bool CountedLoop::meets_before(size_t nest) const {
  return multiplies_from_memory(nest) && !takes_numbers(nest);
}

int CountedLoop::meetings_after(size_t nest) const {
  const bool exchanges = through_memory && rows.exchange_of(nest) != nullptr;
  return int(meets_before((nest + 1) % nests.size())) + int(exchanges);
}

int CountedLoop::meetings() const {
  int all = 0;
  for (size_t i = 0; i < nests.size(); ++i) all += meetings_after(i);
  return all;
}

bool CountedLoop::begins_with_zeros() const {
  return through_memory && std::ranges::any_of(products, [](const CountedProduct& product) {
           return product.begins_with_left() && !product.next_step;
         });
}

int CountedProduct::steps_ahead() const {
  if (uses_fma()) return std::min(steps_of_warp, kFmaStepsAhead);
  return steps_of_warp <= 2 * kStepsAhead ? steps_of_warp : kStepsAhead;
}

int CountedProduct::registers_ahead() const {
  if (!through_memory) return 0;
  return (uses_fma() ? steps_ahead() : std::min(steps_of_warp, 2 * kStepsAhead)) * left_words();
}

int CountedProduct::columns_at_a_time() const {
  return std::min(columns(), kFmaSums / (kUnits * rows_of_lane));
}

int CountedProduct::sums() const {
  if (!uses_fma()) return (has_pieces() ? 4 : 2) * words_of_step;
  const int rows = kUnits * rows_of_lane;
  return columns_at_a_time() * rows + words_of_step * rows_of_lane + 2 * rows;
}

std::string CountedProduct::too_many_sums() const {
  const int count = uses_fma() ? rows_of_lane * words_of_step : sums();
  if (count > kMostCountedSums) return fmt::format("a lane would have {} sums", count);
  if (uses_fma() && 2 * steps_of_warp > kPiece)
    return fmt::format("a lane would sum {} terms in one piece", 2 * steps_of_warp);
  return {};
}

bool CountedProduct::has_pieces() const {
  return !uses_fma() && steps_of_warp > kPiece / terms_of_step;
}

std::string CountedProduct::copy_text(std::string_view use, int64_t size) const {
  return copies == 1 ? std::string() : fmt::format(" + (unsigned)({} % 2) * {}u", use, 4 * size);
}

std::string CountedProduct::name() const { return fmt::format("{}_{}", nest, product); }

double CountedLoop::cycles_of(const CountedProduct& product, const Gpu& gpu) const {
  if (const std::optional<TensorCost> cost = tensor_cost(product.factors)) {
    const double multiplied = double(row_tiles) * kTileRows * kCountedWarps * kUnits *
                              product.columns() * product.steps_of_warp * product.terms_of_step;
    return multiplied * cost->products / (gpu.mma_per_clock * (cost->is_half ? 2 : 1));
  }
  // Instructions of a warp: a quarter of the warps has the same scheduler.
  const double at_a_time = double(rounded_quotient(product.columns(), product.columns_at_a_time()));
  const double multiplied = 2.0 * kUnits * rows_of_lane * product.columns() * product.steps_of_warp;
  const double loads = (kUnits * at_a_time + product.loads_of_step()) * product.steps_of_warp;
  const double added = double(kInstructionsOfSums) * rows_of_lane * product.columns();
  const double cycles = std::max(multiplied * 128 / gpu.fma_per_clock, multiplied + loads) + added;
  return cycles * double(row_tiles) * double(rounded_quotient(product.busy_warps(), 4));
}

double CountedLoop::loaded_bytes(const CountedProduct& product) const {
  // Of a lane: the left fragment of each step and tile of rows, right fragments that are in no
  // registers, and partial sums.
  const double left = double(row_tiles) * product.steps_of_warp;
  const double right =
      double(row_tiles) * (product.steps_of_warp - product.in_registers) * product.loads_of_step();
  const double lanes = 32.0 * product.busy_warps();
  if (product.uses_fma()) {
    // Lanes of a column load the same words of two terms: 128 bytes a cycle serve two words each.
    const int turns = rounded_quotient(product.columns(), product.columns_at_a_time());
    const double terms = left * turns * kUnits * double(product.left_words());
    const double sums = through_memory ? 2 * 4 * double(product.inbox_words)
                                       : double(product.scatters ? product.bytes_of_use : 0);
    return lanes * (2 * terms + 16 * right) + sums;
  }
  if (through_memory) return lanes * 16 * right + 2 * 4 * double(product.inbox_words);
  return lanes * (product.left_bytes() * left + 16 * right) +
         (product.scatters ? double(product.bytes_of_use) : 0);
}

double CountedLoop::time_to_fill(const Gpu& gpu) const {
  double us = 0;
  for (const CountedProduct& product : products) {
    us += gpu.memory_latency_us *
          double(rounded_quotient(product.steps_of_warp, product.steps_filled_together()));
    if (product.next_step)
      us += gpu.memory_latency_us *
            double(rounded_quotient(left_turns(product), kLeftFilledTogether));
  }
  return us;
}

/// The time of an exchange of numbers of rows, beside the barrier of blocks that are no cluster.
double CountedLoop::time_of_row_exchange(const Gpu& gpu) const {
  return gpu.block_barrier_us +
         (through_memory ? gpu.memory_latency_us
                         : gpu.counted_step_us + gpu.exchange_block_us * double(blocks));
}

double CountedLoop::time_beside_products(const LoopNests& loop, const Gpu& gpu) const {
  double us = gpu.counted_step_us;
  if (!through_memory) us += gpu.exchange_block_us * double(blocks) * double(products.size());
  us += double(rows.exchanges.size()) * time_of_row_exchange(gpu);
  for (size_t i = 0; i < nests.size(); ++i) {
    if (rows.has_no_elements(i)) continue;
    const NestProgram& program = loop.program(i);
    const int tiles_of_lane = through_memory ? 1 : row_tiles;
    us +=
        gpu.counted_element_us * 2 * double(rows_of_lane * tiles_of_lane * nests[i].tiles_of_warp);
    us += gpu.block_barrier_us * (double(meets[i]) + double(nests[i].splits() > 1));
    const auto loads = std::ranges::count_if(program.body, [&](const NestInstruction& in) {
      if (in.kind != NestOp::load) return false;
      const NestOperand& operand = program.operands[size_t(in.operand)];
      return operand.kind == OperandKind::load && operand.column != ColumnStep::none;
    });
    const auto held_ones =
        std::ranges::count_if(held.loads, [&](const HeldLoad& each) { return each.nest == i; });
    // Loads of a nest that waits, for operands or for numbers of rows, are hidden by that.
    if (!waits(i) && loads > held_ones) us += gpu.memory_latency_us;
  }
  // A warp takes in the words of its terms, the first of which it waits for.
  for (const CountedProduct& product : products) {
    if (!through_memory) continue;
    const double bytes = double(product.bytes_of_use) * product.lanes.warps;
    us += gpu.memory_latency_us + bytes / gpu.bytes_per_clock / gpu.clock_per_us;
  }
  return us;
}

bool CountedLoop::takes_numbers(size_t nest) const {
  while (nest > 0 && rows.has_no_elements(nest - 1)) --nest;
  return nest > 0 && rows.exchange_of(nest - 1) != nullptr;
}

bool CountedLoop::waits(size_t nest) const {
  return takes_numbers(nest) ||
         std::ranges::find(products, nest, &CountedProduct::nest) != products.end();
}

int64_t CountedLoop::counter_of(const RowExchange& exchange) const {
  return 16 * int64_t(products.size() + size_t(&exchange - rows.exchanges.data()));
}

int64_t CountedLoop::bytes_of(const RowExchange& exchange) const {
  return int64_t{4} * blocks * tile_rows() * exchange.width();
}

size_t CountedLoop::number_of(size_t nest, size_t product) const {
  const auto found = std::ranges::find_if(products, [&](const CountedProduct& each) {
    return each.nest == nest && each.product == product;
  });
  return size_t(found - products.begin());
}

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_threads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "codegen/nest/contracted_products.h"

namespace graphc::core::cuda {
namespace {

constexpr int kLanesOfWarp = 32, kMostWarps = 32;
/// Schedulers of a multiprocessor, each of which starts an instruction of a warp in a cycle.
constexpr int kSchedulers = 4;
/// Cycles until a result can be used: of an addition, of a shuffle with its addition, and of what
/// several warps have written into shared memory. The last is a guess: with it gated-delta of 64 x
/// 64 gets the division that a program by hand was fastest with on an H200.
constexpr double kAdditionLatency = 4, kShuffleLatency = 27, kMeetingLatency = 75;
/// The share of its instructions by which a warp delays another one of its scheduler, which could
/// start one of its own at the time. A guess: it prefers blocks to warps where they take as long.
constexpr double kDelay = 0.1;
/// Instructions of a step that do not depend on the division, and those beside each access of a
/// value: those of its address.
constexpr double kInstructionsOfStep = 12, kInstructionsOfAccess = 5;
/// Registers of a multiprocessor, the most of a thread, and those that a thread takes for its own
/// place and for the address of a value.
constexpr int64_t kRegistersOfAll = 64 << 10, kRegistersOfThread = 255;
constexpr int64_t kRegistersOfPlace = 24, kRegistersOfAddress = 2;

/// The most parts of an axis: a power of two of blocks that all run at a time, of which each has
/// the same number of elements, eight at least.
int64_t most_parts(int64_t extent, int64_t loop_rows, const Gpu& gpu) {
  int64_t parts = 1;
  while (2 * parts * loop_rows <= gpu.multiprocessors && extent % (2 * parts) == 0 &&
         extent / (2 * parts) >= 8)
    parts *= 2;
  return parts;
}

/// What a step costs a block.
struct StepCost {
  double instructions = kInstructionsOfStep;  ///< of each warp
  double shuffles = 0;                        ///< of those
  double lines = 0;                           ///< of memory, that instructions of all warps touch
  double latency = 0;                         ///< cycles in which a warp waits for its own results

  /// A warp takes as long as its instructions and what it waits for; all of them together as long
  /// as a scheduler takes for its warps, or as what they share: a shuffle and a line a cycle.
  double cycles(int warps) const {
    const double turns = double((warps + kSchedulers - 1) / kSchedulers);
    const double alone = instructions + latency + kDelay * instructions * (turns - 1);
    return std::max({alone, instructions * turns, shuffles * warps, lines});
  }
};

/// Instructions of a nest for an element. A product that is added in one rounding takes none.
double instructions_of_element(const NestProgram& program) {
  double count = 0;
  for (const NestInstruction& in : program.body) {
    if (in.kind == NestOp::scalar) count += cost_of(in.op);
    if (in.kind == NestOp::reduce) ++count;
  }
  for (const int product : contracted_products(program, {})) count -= double(product >= 0);
  return count;
}

/// Adds the meetings of threads for a nest's sums over an axis, of which each thread has so many.
void add_meetings(StepCost& cost, const ThreadAxis& axis, int64_t results) {
  const int levels = std::bit_width(unsigned(axis.lanes - 1));
  cost.instructions += 2.0 * double(results) * levels;
  cost.shuffles += double(results) * levels;
  cost.latency += kShuffleLatency * levels;
  if (axis.warps == 1) return;
  cost.instructions += 2.0 * double(results) * (axis.warps + 1);
  cost.latency += kMeetingLatency;
}

void add_nest(StepCost& cost, const NestProgram& program, const RowNest& nest,
              const RowThreads& threads) {
  const bool of_matrix = nest.domain == Spread::matrix;
  const double own = instructions_of_element(program) * double(threads.elements(nest.domain));
  // A sum waits for each of its additions, unless there are instructions of other elements between.
  double waits = kAdditionLatency * double(program.body.size()) / 2;
  if (nest.over_rows) waits += kAdditionLatency * double(threads.rows.elements());
  if (nest.over_columns) waits += kAdditionLatency * double(threads.columns.elements());
  cost.instructions += own;
  cost.latency += std::max(waits - own, 0.0);
  if (nest.over_rows) add_meetings(cost, threads.rows, of_matrix ? threads.columns.elements() : 1);
  if (nest.over_columns)
    add_meetings(cost, threads.columns, of_matrix ? threads.rows.elements() : 1);
}

/// Adds an access of a value: an instruction for each element, and those of its place.
void add_access(StepCost& cost, const RowValue& value, const RowThreads& threads) {
  const int64_t size = size_of(value.place.dtype);
  const auto elements = double(threads.elements(value.spread));
  cost.instructions += elements + kInstructionsOfAccess;
  int lines = 1;
  if (value.spread == Spread::matrix) {
    lines = kLanesOfWarp;
    if (std::abs(value.place.of_column) == size) lines = threads.rows.lanes;
    if (std::abs(value.place.of_row) == size) lines = threads.columns.lanes;
  }
  cost.lines += elements * lines * threads.count() / kLanesOfWarp;
}

StepCost cost_of_step(const Plan& plan, const RowLoop& loop, const RowThreads& threads) {
  StepCost cost;
  for (const RowNest& nest : loop.nests)
    add_nest(cost, plan.programs[size_t(nest.call->program)], nest, threads);
  for (const RowValue& value : loop.values) {
    if (value.origin == Origin::memory) add_access(cost, value, threads);
    if (value.is_stored && !value.place.is_of_last()) add_access(cost, value, threads);
  }
  const double spilled =
      double(std::max<int64_t>(threads.registers(loop) - threads.most_registers(), 0));
  cost.instructions += 2 * spilled;
  cost.lines += 2 * spilled * threads.count() / kLanesOfWarp;
  return cost;
}

/// All ways in which the threads of a block can divide its part of a row.
template <class Visit>
void visit_divisions(RowThreads threads, const Visit& visit) {
  for (int warps = 1; warps <= kMostWarps; warps *= 2) {
    for (int lanes = kLanesOfWarp; lanes > 0; lanes /= 2) {
      for (int of_rows = 1; of_rows <= warps; of_rows *= 2) {
        threads.rows.lanes = lanes;
        threads.columns.lanes = kLanesOfWarp / lanes;
        threads.rows.warps = of_rows;
        threads.columns.warps = warps / of_rows;
        if (threads.elements(Spread::matrix) <= kMostElements || warps == kMostWarps)
          visit(threads);
      }
    }
  }
}

}  // namespace

int64_t RowThreads::elements(Spread spread) const {
  if (spread == Spread::number) return 1;
  return spread == Spread::matrix ? rows.elements() * columns.elements() : axis(spread).elements();
}

int64_t RowThreads::most_registers() const {
  return std::min(kRegistersOfThread, kRegistersOfAll / count());
}

int64_t RowThreads::registers(const RowLoop& loop, int matrices_ahead, int vectors_ahead) const {
  int64_t registers = kRegistersOfPlace;
  for (size_t v = 0; v < loop.values.size(); ++v) {
    const RowValue& value = loop.values[v];
    if (value.origin != Origin::made || value.is_stored) registers += kRegistersOfAddress;
    const int ahead = value.spread == Spread::matrix ? matrices_ahead : vectors_ahead;
    const int64_t words = (size_of(value.place.dtype) + 3) / 4;
    registers += elements(value.spread) * words * (value.origin == Origin::memory ? 1 + ahead : 1);
    if (!division.is_share.empty() && division.ends_whole[v])
      registers += kRegistersOfAddress + 2 * elements(value.spread) * words;
  }
  return registers;
}

RowThreads row_threads(const Plan& plan, const RowLoop& loop, const Gpu& gpu) {
  RowThreads best;
  double least = std::numeric_limits<double>::infinity();
  // Of equal ones the division of the columns: what a thread loads and stores is contiguous along
  // them.
  for (const bool rows : {false, true}) {
    const std::optional<Division> division = divided(plan, loop, rows);
    const int64_t most =
        division ? most_parts(rows ? loop.rows : loop.columns, loop.loop_rows, gpu) : 1;
    for (int64_t parts = rows ? 2 : 1; parts <= most; parts *= 2) {
      RowThreads threads;
      threads.rows.parts = rows ? parts : 1;
      threads.columns.parts = rows ? 1 : parts;
      threads.rows.extent = loop.rows / threads.rows.parts;
      threads.columns.extent = loop.columns / threads.columns.parts;
      visit_divisions(threads, [&](const RowThreads& tried) {
        const double cycles = cost_of_step(plan, loop, tried).cycles(tried.count() / kLanesOfWarp);
        if (cycles >= least) return;
        least = cycles;
        best = tried;
        best.division = parts > 1 ? *division : Division();
      });
    }
  }
  return best;
}

RowStep row_step(const Plan& plan, const RowLoop& loop, const RowThreads& threads, const Gpu& gpu) {
  RowStep step;
  for (const RowValue& value : loop.values) {
    const bool moves = !value.place.is_of_last();
    const int times = int(value.origin == Origin::memory) + int(value.is_stored && moves);
    double elements = 1;
    if (value.place.of_row != 0) elements *= double(loop.rows);
    if (value.place.of_column != 0) elements *= double(loop.columns);
    step.bytes += times * elements * double(size_of(value.place.dtype) * loop.loop_rows);
  }
  const double cycles = cost_of_step(plan, loop, threads).cycles(threads.count() / kLanesOfWarp);
  const auto blocks = double(loop.loop_rows * threads.parts());
  step.us = cycles / gpu.clock_per_us * std::ceil(blocks / gpu.multiprocessors);
  return step;
}

}  // namespace graphc::core::cuda

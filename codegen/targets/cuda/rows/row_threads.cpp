// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/rows/row_threads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace graphc::core::cuda {
namespace {

constexpr int kLanesOfWarp = 32, kThreadsOfBlock = 1024;
/// A thread's elements of the matrix: of a whole one, since several such matrices are in its
/// registers; and of a part, where more threads make a step shorter.
constexpr int64_t kElementsOfWhole = 16, kElementsOfPart = 4;
/// Cycles of a shuffle, of a meeting of warps, and of what a register too many costs: a store and a
/// load; and those of all operations on an element. They only have to rank divisions.
constexpr double kShuffle = 2, kMeeting = 60, kSpill = 8, kCyclesOfElement = 20;
/// Cycles until a result can be used, and the instructions that a multiprocessor starts in one.
constexpr double kResultLatency = 25, kSchedulers = 4;
/// Registers of a multiprocessor, the most of a thread, and those that a thread takes for
/// addresses.
constexpr int64_t kRegistersOfAll = 64 << 10, kRegistersOfThread = 255, kRegistersOfAddresses = 40;

int limited_power_of_two(int64_t least, int64_t most) {
  const auto power = int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(least, 1))));
  return int(std::min(power, most));
}

/// The number of parts of an axis: the largest power of two whose blocks all run at a time, and
/// that leaves every part the same number of elements, eight at least.
int64_t number_of_parts(int64_t extent, int64_t loop_rows, const Gpu& gpu) {
  int64_t parts = 1;
  while (2 * parts * loop_rows <= gpu.multiprocessors && extent % (2 * parts) == 0 &&
         extent / (2 * parts) >= 8)
    parts *= 2;
  return parts;
}

/// Cycles that a nest's sums over an axis take.
double cycles_of_sums(const ThreadAxis& axis, int64_t results) {
  double cycles = kShuffle * double(results) * std::bit_width(unsigned(axis.lanes - 1));
  if (axis.warps > 1) cycles += kMeeting + kShuffle * double(results) * axis.warps;
  return cycles;
}

/// Cycles in which the warps of a block load or store a matrix: one for every line of memory that
/// an instruction of a warp touches.
double cycles_of_access(const RowValue& value, const RowThreads& threads) {
  const int64_t size = size_of(value.place.dtype);
  int lines = kLanesOfWarp;
  if (std::abs(value.place.of_column) == size) lines = threads.rows.lanes;
  if (std::abs(value.place.of_row) == size) lines = threads.columns.lanes;
  const double instructions =
      double(threads.elements(Spread::matrix)) * threads.count() / kLanesOfWarp;
  return instructions * lines;
}

/// Cycles of a step that depend on the division: sums, memory, and registers that there are not.
double cycles_of(const RowLoop& loop, const RowThreads& threads) {
  double cycles = 0;
  for (const RowNest& nest : loop.nests) {
    const bool of_matrix = nest.domain == Spread::matrix;
    if (nest.over_rows)
      cycles += cycles_of_sums(threads.rows, of_matrix ? threads.columns.elements() : 1);
    if (nest.over_columns)
      cycles += cycles_of_sums(threads.columns, of_matrix ? threads.rows.elements() : 1);
  }
  for (const RowValue& value : loop.values) {
    if (value.spread != Spread::matrix) continue;
    if (value.origin == Origin::memory) cycles += cycles_of_access(value, threads);
    if (value.is_stored && !value.place.is_of_last()) cycles += cycles_of_access(value, threads);
  }
  const int64_t most = threads.most_registers(), wanted = threads.registers(loop);
  return cycles + kSpill * double(std::max<int64_t>(wanted - most, 0));
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
  int64_t registers = kRegistersOfAddresses;
  for (const RowValue& value : loop.values) {
    const int ahead = value.spread == Spread::matrix ? matrices_ahead : vectors_ahead;
    const int64_t words = (size_of(value.place.dtype) + 3) / 4;
    registers += elements(value.spread) * words * (value.origin == Origin::memory ? 1 + ahead : 1);
  }
  return registers;
}

RowThreads row_threads(const Plan& plan, const RowLoop& loop, const Gpu& gpu) {
  RowThreads threads;
  // Of two divisions the one in more parts; of equal ones that of the columns: what a thread loads
  // and stores is contiguous along them.
  for (const bool rows : {false, true}) {
    std::optional<Division> division = divided(plan, loop, rows);
    const int64_t parts =
        division ? number_of_parts(rows ? loop.rows : loop.columns, loop.loop_rows, gpu) : 1;
    if (parts <= threads.parts()) continue;
    threads.rows.parts = rows ? parts : 1;
    threads.columns.parts = rows ? 1 : parts;
    threads.division = std::move(*division);
  }
  threads.rows.extent = loop.rows / threads.rows.parts;
  threads.columns.extent = loop.columns / threads.columns.parts;
  const int64_t of_thread = threads.parts() > 1 ? kElementsOfPart : kElementsOfWhole;
  const int warps = limited_power_of_two(
      threads.rows.extent * threads.columns.extent / (of_thread * kLanesOfWarp),
      kThreadsOfBlock / kLanesOfWarp);
  RowThreads best;
  double least = std::numeric_limits<double>::infinity();
  for (int lanes = kLanesOfWarp; lanes > 0; lanes /= 2) {
    for (int of_rows = 1; of_rows <= warps; of_rows *= 2) {
      RowThreads tried = threads;
      tried.rows.lanes = lanes;
      tried.columns.lanes = kLanesOfWarp / lanes;
      tried.rows.warps = of_rows;
      tried.columns.warps = warps / of_rows;
      const double elements = double(tried.elements(Spread::matrix));
      const double cycles = cycles_of(loop, tried) + kCyclesOfElement * elements;
      if (cycles < least) {
        least = cycles;
        best = tried;
      }
    }
  }
  return best;
}

RowStep row_step(const Plan& plan, const RowLoop& loop, const RowThreads& threads, const Gpu& gpu) {
  double cycles = cycles_of(loop, threads);
  for (const RowNest& nest : loop.nests) {
    const NestProgram& program = plan.programs[size_t(nest.call->program)];
    const double instructions = double(program.body.size()) *
                                double(threads.elements(nest.domain)) * threads.count() /
                                kLanesOfWarp;
    cycles += kResultLatency + instructions / kSchedulers;
    for (const ThreadAxis* axis : {&threads.rows, &threads.columns}) {
      if (axis == &threads.rows ? nest.over_rows : nest.over_columns)
        cycles += kResultLatency * std::bit_width(unsigned(axis->lanes - 1));
    }
  }
  RowStep step;
  for (const RowValue& value : loop.values) {
    const bool moves = !value.place.is_of_last();
    const int times = int(value.origin == Origin::memory) + int(value.is_stored && moves);
    double elements = 1;
    if (value.place.of_row != 0) elements *= double(loop.rows);
    if (value.place.of_column != 0) elements *= double(loop.columns);
    step.bytes += times * elements * double(size_of(value.place.dtype) * loop.loop_rows);
  }
  const auto blocks = double(loop.loop_rows * threads.parts());
  step.us = cycles / gpu.clock_per_us * std::ceil(blocks / gpu.multiprocessors);
  return step;
}

}  // namespace graphc::core::cuda

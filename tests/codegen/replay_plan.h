// SPDX-License-Identifier: Apache-2.0
// Plans walked without code: who wrote each byte stands in the place of the byte.
#pragma once

#include <algorithm>
#include <string>

#include "codegen/machine.h"
#include "codegen/step/plan.h"

namespace graphc::core::testing {

/// Tiles of several rows and vectors, the fewer the more parts products have.
inline TileShape tile_like(const Machine& machine, const NestProgram& program) {
  int parts = 1;
  for (const NestProduct& product : program.products) parts = std::max(parts, product.parts);
  const int vectors = program.kind == NestKind::row_wise ? 1 : std::max(1, 4 / parts);
  return {.lanes = machine.lanes, .vectors = vectors, .rows = machine.registers >= 32 ? 6 : 3};
}

/// Machines of three kinds of processor, every other of which keeps functions.
inline Machine machine_like(size_t kind, int workers) {
  static constexpr struct {
    int lanes, registers;
  } kinds[] = {{16, 32}, {8, 16}, {4, 16}};
  return {.lanes = kinds[kind % 3].lanes,
          .registers = kinds[kind % 3].registers,
          .workers = workers,
          .keeps_functions = kind % 2 == 0,
          .tile_of = tile_like};
}

/// Walks a plan in two memories at once: as it was lowered, every buffer a place of its own, and as
/// it was planned, with results in the place of operands and buffers sharing the arena. Every
/// worker does its share of every call as the planned records say, element by element, in the order
/// of the text. Returns the first thing that is wrong, or nothing:
/// - a read that finds the bytes of another write in the planned memory than in the lowered one;
/// - a read of bytes that nobody has written;
/// - a worker that writes what another reads or writes in the same phase;
/// - a result that is not as it was lowered, when all is done.
/// It knows no indices: a gather may read any row, a scatter writes every row it owns.
std::string replay(const Plan& lowered, const Plan& planned, const Machine& machine);

/// Lowers, plans and schedules a graph of kernels, and replays it.
std::string replay(const Graph& kernels, const Machine& machine);

}  // namespace graphc::core::testing

// SPDX-License-Identifier: Apache-2.0
// What lowering and planning ask of the machine that a plan is for. They know no other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/nest/program.h"

namespace graphc::core {

/// A kind of product that a machine has: the types of its operands, the type its sums are kept in,
/// how many rows of k one row of a panel joins (pairs of bf16: 2), and what is multiplied.
struct ProductForm {
  DType left = DType::f32, right = DType::f32, sum = DType::f32;
  int k_group = 1;
  Factors factors = Factors::as_stored;
  bool matrix_tiles = false;  ///< by Machine::matrix_tile, from panels of bf16
  bool operator==(const ProductForm&) const = default;
};

/// The matrix tiles of a machine: products of `rows` x `terms` by `terms` x `columns` elements in
/// one instruction.
struct MatrixTile {
  int rows = 0, columns = 0, terms = 0;
  /// Pairs of tiles of rows that take turns with a panel of more than two parts.
  int turns = 1;
  bool operator==(const MatrixTile&) const = default;
};

class LowerContext;
class ViewMap;
struct Node;
/// Lowers a node to calls of a target's own functions (ExternCall); false for a node that the
/// target has no function for. `views` are those of the node's operands, and get those of its
/// results; `wanted` says where results are to go. It writes records through
/// codegen/lower/context.h.
using LowerExternal = bool (*)(LowerContext& context, const Node& node, ViewMap& views,
                               const ViewMap& wanted);

struct Machine;
/// The tile of a machine with vector registers. Blocks of four vectors over the parts where they
/// fit, as many rows as accumulators allow: 24 of 32 registers, 12 of 16. By matrix tiles: blocks
/// of two tiles of columns, or one for each part; two tiles of rows, or as many times two as take
/// turns.
TileShape vector_tile(const Machine& machine, const NestProgram& program);

/// A machine as a plan sees it. A target fills one in for each compilation; plans for two machines
/// differ in panels, blocks and shares, never in what is computed from what.
struct Machine {
  std::string target = "this target";  ///< what messages call it
  int lanes = 16;                      ///< f32 elements of a vector
  int registers = 32;                  ///< vectors that a tile's sums and operands may take
  int workers = 1;  ///< threads, blocks or streams among which each phase is shared out
  int64_t block_bytes = 128 << 10;  ///< what a worker's second-level cache keeps of one stream
  /// Matrices of a step that are more come from a cache further away at every step: what a worker's
  /// second-level cache holds.
  int64_t kept_bytes = 2 << 20;
  /// A value of so many bytes and more is no longer in caches when the next kernel reads it: what
  /// writes it need not bring its lines there first. 0: none is.
  int64_t uncached_bytes = 0;
  /// Bytes of a matrix that a worker reads in the time of one barrier: an estimate, 1 to 2 us at 50
  /// GB/s.
  int64_t barrier_bytes = 64 << 10;
  /// Whether phases that do not depend on each other may be done in any order, so that small values
  /// are worth a place that nothing else has.
  bool reorders_phases = false;
  /// Whether loops leave out what their first and last steps need not do: a walk of the plan does
  /// (codegen/lower/unneeded.h).
  bool leaves_out_unneeded = true;
  /// Whether an elementary function takes longer than to store its value and to load it again.
  bool keeps_functions = false;
  std::vector<ProductForm> products{ProductForm{}};
  MatrixTile matrix_tile;  ///< of products by matrix tiles
  /// Lowers what it does by other means than nests; null: nothing.
  LowerExternal lower_external = nullptr;

  /// The rule for tiles; a target has its own, or that of machines with vectors.
  TileShape (*tile_of)(const Machine& machine, const NestProgram& program) = vector_tile;

  TileShape tile(const NestProgram& program) const { return tile_of(*this, program); }
  /// The form that multiplies these types, or null.
  const ProductForm* product(DType left, DType right) const;
  /// What it multiplies, in words: "f32".
  std::string product_types() const;
};

}  // namespace graphc::core

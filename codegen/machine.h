// SPDX-License-Identifier: Apache-2.0
// The description of a machine that lowering and planning use. They use no other knowledge of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/nest/program.h"

namespace graphc::core {

/// A kind of product that a machine supports: the types of its operands, the type of its sums, how
/// many rows of k one row of a panel interleaves (pairs of bf16: 2), and which factors are
/// multiplied.
struct ProductForm {
  DType left = DType::f32, right = DType::f32, sum = DType::f32;
  int k_group = 1;
  Factors factors = Factors::as_stored;
  bool matrix_tiles = false;  ///< by Machine::matrix_tile, from bf16 panels
  bool operator==(const ProductForm&) const = default;
};

/// The matrix tiles of a machine: one instruction multiplies `rows` x `k` by `k` x
/// `columns` elements.
struct MatrixTile {
  int rows = 0, columns = 0, k = 0;
  /// Pairs of row tiles that take turns on a panel of more than two parts.
  int turns = 1;
  bool operator==(const MatrixTile&) const = default;
};

class LowerContext;
class ViewMap;
struct Node;
/// Lowers a node to calls of a target's own functions (ExternCall); returns false for a node that
/// the target has no function for. `views` holds the views of the node's operands and receives
/// those of its results; `wanted` holds the destinations of the results. Records are written
/// through codegen/lower/context.h.
using LowerExternal = bool (*)(LowerContext& context, const Node& node, ViewMap& views,
                               const ViewMap& wanted);

/// A machine as a plan sees it. A target fills one in for each compilation. Plans for two machines
/// differ in panels, blocks and shares, never in the values computed or their operands.
struct Machine {
  std::string target = "this target";  ///< its name in messages
  int lanes = 16;                      ///< f32 elements of a vector
  int registers = 32;                  ///< vectors available for a tile's sums and operands
  int workers = 1;                     ///< threads, blocks or streams that share each phase
  /// Of a stream, kept in a worker's second-level cache. 0: nests of a body go over all rows, one
  /// after another.
  int64_t block_bytes = 128 << 10;
  /// Capacity of a worker's second-level cache. When the matrices of a step exceed it, every step
  /// reads them again from a more distant cache.
  int64_t kept_bytes = 2 << 20;
  /// A value of at least this many bytes has left the caches before the next kernel reads it, so
  /// its stores need not load the cache lines first. 0: no value is treated so.
  int64_t uncached_bytes = 0;
  /// Bytes of a matrix that a worker reads in the time of one barrier; an estimate: 1 to 2 us at 50
  /// GB/s.
  int64_t barrier_bytes = 64 << 10;
  /// Whether independent phases may run in any order. If so, giving small values memory that no
  /// other value shares is worth it.
  bool reorders_phases = false;
  /// Whether loops skip work that their first and last steps do not need. The walk of a plan does
  /// (codegen/lower/unneeded.h).
  bool leaves_out_unneeded = true;
  /// Whether a product puts its matrix into panels in each call, unless they exist. Else it reads
  /// the matrix as it lies.
  bool packs_matrices = true;
  /// Whether panels hold factors that are rounded to bf16 as such.
  bool packs_factors = false;
  /// Bytes at multiples of which rows of a matrix begin if large products read it in bf16
  /// (codegen/lower/pitch.h); 0: rows lie side by side.
  int64_t pitch = 0;
  /// Multiply-adds of such a product, at least: others take about as long as a launch.
  int64_t pitched_from = int64_t{1} << 23;
  /// Whether evaluating an elementary function takes longer than storing its value and loading it
  /// again.
  bool keeps_functions = false;
  std::vector<ProductForm> products{ProductForm{}};
  MatrixTile matrix_tile;  ///< of products that use matrix tiles
  /// Lowers nodes that the target implements without nests; null: there are none.
  LowerExternal lower_external = nullptr;
  /// Sums over ranks that begin one after another are one operation up to this size: about what a
  /// network moves in the time that an operation takes to begin, if it is not measured
  /// (Ranks::bucket_bytes).
  int64_t bucket_bytes = 1 << 20;

  /// The target's rule that chooses tiles; null: they are as in TileShape, one vector wide.
  TileShape (*tile_of)(const Machine& machine, const NestProgram& program) = nullptr;

  /// The tile of a nest on this machine.
  TileShape tile(const NestProgram& program) const;
  /// The form that multiplies these types, or null if there is none.
  const ProductForm* product(DType left, DType right) const;
  /// The operand types it multiplies, as text: "f32".
  std::string product_types() const;
};

}  // namespace graphc::core

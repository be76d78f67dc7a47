// SPDX-License-Identifier: Apache-2.0
// One placement of a loop: what each block owns, what fits on the chip, and how long a step takes.
#pragma once

#include <optional>
#include <vector>

#include "codegen/targets/cuda/loops/loop_placement.h"
#include "codegen/targets/cuda/text/kernel_text.h"

namespace graphc::core::cuda {

/// Places a loop on a GPU; both must outlive it.
class Placer {
 public:
  Placer(const LoopNests& nests, const Gpu& gpu);

  /// Whether blocks can own parts of the loop.
  bool possible() const;
  /// Whether nests have axes around their rows. Then blocks can be placed as a grid only.
  bool has_outer_axes() const { return has_outer_axes_; }
  /// Whether groups of rows are independent of each other.
  bool rows_are_private() const;
  /// Returns nothing if the placement does not fit. Elementwise nests beside rows own rows too
  /// where that makes a step shorter.
  std::optional<LoopPlacement> place(Placement kind, int64_t row_groups,
                                     int64_t column_groups) const;
  /// The time of a step in which every matrix is read anew, by the model of place_loop().
  double streamed_us() const;

 private:
  /// `p` has the numbers of blocks and no nests yet.
  std::optional<LoopPlacement> place(LoopPlacement p, const std::vector<Owner>& owners) const;
  NestShare share_of(size_t i, const LoopPlacement& p, Owner owner) const;
  /// Sets the largest tile whose sums fit in registers, of about the block's rows and columns.
  static void set_tile(const NestProgram& program, int64_t rows, NestShare& share);
  /// Chooses what stays on the chip, and how blocks exchange.
  bool lay_out(LoopPlacement& p, const std::vector<Owner>& owners) const;
  /// Chooses which matrices stay in shared memory, and the size of the operands' pieces next to
  /// them.
  bool lay_out_shared(LoopPlacement& p) const;
  /// The same for a cluster, which holds all matrices, and the left operands that fit next to them.
  bool lay_out_cluster(LoopPlacement& p, const std::vector<Owner>& owners) const;
  /// Lets its blocks exchange fragments, if that is possible.
  bool count_exchange(LoopPlacement& p) const;
  void add_exchanges(LoopPlacement& p, const std::vector<Exchange>& exchanges) const;
  void grow_pieces(LoopPlacement& p, int64_t room) const;
  /// Whether pieces of operands are loaded into registers while the previous ones are multiplied.
  bool reads_ahead(const NestProgram& program, const NestForm& form) const;
  int64_t staging_bytes(const LoopPlacement& p) const;
  int64_t static_bytes(const LoopPlacement& p) const;
  DType dtype() const;

  /// The time of a tile's product over all of k.
  double product_us(const NestProgram& program, size_t product, int64_t k, const NestForm& form,
                    bool resident, bool exchanged) const;
  double multiplied_per_clock(const NestProgram& program, const NestProduct& form) const;
  double step_us(const LoopPlacement& p) const;
  double counted_step_us(const LoopPlacement& p) const;
  double barrier_us(const LoopPlacement& p) const;

  const LoopNests& nests_;
  const Gpu& gpu_;
  const std::vector<Owner> owners_;              ///< of the nests, before any is given rows
  const std::vector<std::vector<size_t>> runs_;  ///< of nests that may be given rows
  std::vector<bool> invariant_;                  ///< by product, over all nests
  bool has_outer_axes_ = false;
  int registers_ahead_ = 0;  ///< for operands loaded ahead and sums
};

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// Loops whose blocks hand left operands on as fragments of the products that read them: those of a
// cluster to each other's shared memory, counted in by mbarriers
// (docs/decisions/0030-exchanges-that-count-their-bytes.md), others by way of memory.
//
// Fragments. An instruction of the tensor cores multiplies 16 rows by 8 columns. Rows of a block
// are cut into tiles of 16, its columns into unit tiles of 8; eight terms of a tile of rows of a
// left operand are a strip. Lane 4 g + q of a warp has rows g and g + 8, and columns 2 q and 2 q +
// 1, of each result of an instruction, and of the left operand it needs rows g and g + 8 of terms
// that may be chosen freely: 2 q and 2 q + 1 of a strip. So the lane that computes elements has the
// words that the lane of the same number reads in the next product, in every block, and nothing is
// shuffled or staged. An instruction takes two strips of 16-bit factors, or one strip of tf32.
//
// Where a block has eight rows or fewer, a tile has eight: the instruction's other rows are zeros
// that nobody keeps or sends, and a lane has row g alone.
//
// Terms are in the order of those who make them: block by block, store by store, unit tile by unit
// tile, part by part. Where a block's columns are no multiple of eight, strips end in zeros.
//
// Scatter. Where an operand is made in the step that multiplies it, and is larger than the result,
// as in derivatives, a block multiplies its own terms by all columns instead, and sends each block
// the partial sums of its columns, which that adds in the order of the blocks.
//
// Factors as stored. Fused multiply-adds round no factor. A lane then has one column of each unit
// tile, and all rows of the tile, for a quarter of the terms: weights that lie in its registers
// serve eight rows or sixteen, and two words of a left operand serve all its columns. Lane 8 t + u
// has column u, and terms 2 t and 2 t + 1 of a strip. At the end the four lanes of a column add
// their sums, and each lane gets those that an instruction of the tensor cores would give it.
//
// Memory. Blocks that are no cluster store the same words in memory, and meet at a barrier before a
// nest that multiplies. There, each warp takes a part of the terms, of all rows of the block and of
// as many columns as it has registers for sums: it loads the words of these terms ahead of the
// instructions. The block adds the sums of its warps, in their order; then a warp computes the
// elements of one tile of rows.
//
// Safety. A left operand is kept twice, unless an exchange of numbers of rows lies between its uses
// (counted_rows.h). A block sends what belongs to the use after next only when
// all of the next use has come to it, hence every peer has sent that, hence every peer has read
// what is now overwritten: each warp sends after it has read, or meets its block in between. A
// block receives exactly what it waits for, so none exits too early. In memory, a block stores for
// the use after next behind the barrier of the next use, where all have read the one before.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/targets/cuda/loops/counted_memory.h"
#include "codegen/targets/cuda/loops/counted_rows.h"
#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

struct Gpu;
struct LoopPlacement;

/// Rows of an instruction, and columns of a unit tile or terms of a strip.
inline constexpr int kTileRows = 16, kUnits = 8;
/// Warps of a block.
inline constexpr int kCountedWarps = 8;
/// Words of the first step's left operand that a lane loads from memory at a time.
inline constexpr int kLeftFilledTogether = 4;

/// How many parts of a size hold a count.
inline int rounded_quotient(int64_t count, int64_t of) { return int((count + of - 1) / of); }

/// How the warps of a block share its elements of a nest. `warps` side by side have unit tiles, the
/// others the same with other terms of products: a split of k. Of n splits, split s finishes the
/// tiles of rows s, s + n, s + 2 n, ...
struct CountedNest {
  int unit_tiles = 1;     ///< of the block
  int warps = 1;          ///< a power of two
  int tiles_of_warp = 1;  ///< unit tiles
  int splits() const { return kCountedWarps / warps; }
  bool operator==(const CountedNest&) const = default;
};

/// A store that hands on a part of a left operand: its strips among those of a block.
struct CountedStore {
  HandedStore store;
  int first_strip = 0, parts = 1;
  int64_t units = 0, units_of_block = 0;  ///< columns of the nest, and of a block
};

/// A product whose left operand, or whose partial sums, are handed on, and whose right operand
/// stays on the chip.
struct CountedProduct {
  size_t nest = 0, product = 0;
  bool next_step = false;  ///< as in Exchange
  std::vector<CountedStore> stores;
  Factors factors = Factors::bf16;
  int rows_of_lane = 2;         ///< as in CountedLoop
  int terms_of_step = 16;       ///< of an instruction
  bool scatters = false;        ///< hands partial sums on
  bool through_memory = false;  ///< as in CountedLoop
  /// How many copies there are of its operand, and of partial sums of blocks: one where an exchange
  /// of numbers of rows lies between a use and what is handed on for the next.
  int copies = 2;
  int64_t units_of_block = 0;  ///< columns of the product's nest that a block owns
  /// Who multiplies which unit tiles: of the block, or of all blocks. In memory it is not who
  /// computes the nest's elements.
  CountedNest lanes;
  int parts = 1;
  int strips_of_block = 0;
  int strips = 0;         ///< of all blocks, or, where it scatters, of this one
  int steps = 0;          ///< instructions along k
  int steps_of_warp = 0;  ///< of those, of a split
  int in_registers = 0;   ///< of those, whose right fragments stay in registers; the first ones
  int words_of_step = 0;  ///< of a lane's right fragments for a step
  /// Of one of the copies, in shared memory or in that of a group of blocks.
  int64_t operand_at = 0, operand_words = 0;
  int64_t staged_at = 0;  ///< right fragments on their way to registers
  /// Partial sums of blocks, of one of the copies; in memory those of warps, of which there is one.
  int64_t inbox_at = 0, inbox_words = 0;
  int64_t weights_at = 0, weights_words = 0;  ///< right fragments that are in no registers
  /// Where warps keep words that came through memory, for fused multiply-adds.
  int64_t ahead_at = 0, ahead_words = 0;
  int64_t sums_at = 0;       ///< where splits hand their sums over, for two tiles of rows
  int64_t bytes_of_use = 0;  ///< what a block receives
  double cycles = 0;         ///< cycles_of()

  int strips_of_step() const { return terms_of_step / kUnits; }
  /// Whether the last instruction takes in a strip that no block has: zeros.
  bool has_zero_strip() const { return strips % strips_of_step() != 0; }
  /// Whether the second copy has one too.
  bool has_zero_copy() const { return has_zero_strip() && copies == 2; }
  /// Whether a left operand is there before the first step, or zeros for its last strip.
  bool begins_with_left() const { return next_step || has_zero_strip(); }
  /// Words of a lane's left fragment for a step, and bytes.
  int left_words() const { return 2 * rows_of_lane; }
  int left_bytes() const { return 4 * left_words(); }
  /// Loads of 16 bytes of a lane for the right fragments of a step.
  int loads_of_step() const { return (words_of_step + 3) / 4; }
  /// For how many steps a lane loads right fragments from memory at a time before the first step,
  /// so that it waits once for all of them: 16 words or more.
  int steps_filled_together() const;
  /// How many warps, the first ones, have right fragments: those without columns have none.
  int busy_warps() const;
  /// Words of shared memory for the right fragments of a step, of all these warps.
  int64_t staged_words_of_step() const;
  /// Whether sums have more than one piece (product_text.h), so that a lane has two of each.
  bool has_pieces() const;
  /// Whether factors are as stored, so that lanes multiply by fused multiply-adds.
  bool uses_fma() const { return factors == Factors::as_stored; }
  /// Columns of a lane, of all unit tiles and parts, and of how many fused multiply-adds have sums
  /// at a time.
  int columns() const { return words_of_step / 2; }
  int columns_at_a_time() const;
  /// Registers of a lane for sums of a tile of rows, and for the left operand of fused
  /// multiply-adds.
  int sums() const;
  /// Why a lane has not enough registers for its sums; empty: it has.
  std::string too_many_sums() const;
  /// Words that a lane hands on at a time: those of a fragment, or half of them where another lane
  /// has the other half.
  int words_of_send(const CountedStore& store) const;
  /// For how many steps a lane loads left fragments from memory together, and how many registers it
  /// has for them: for two times as many, unless that is all. 0 registers in a cluster.
  int steps_ahead() const;
  int registers_ahead() const;
  /// Whose sums of a tile are added: those of blocks, or of warps that share the terms.
  int senders(int blocks) const { return scatters ? blocks : lanes.splits(); }
  /// The text of an offset of the copies for a use, whose number is given as text: "" for one copy,
  /// or " + (unsigned)(iteration % 2) * 16u".
  std::string copy_text(std::string_view use, int64_t size) const;
  std::string name() const;
};

/// Offsets and sizes in shared memory are in words of four bytes. In a cluster mbarriers are first,
/// two of each product, and two of each exchange of numbers of rows.
struct CountedLoop {
  int rows_of_lane = 2;         ///< of a tile: 1 where that has eight rows
  int row_tiles = 1;            ///< of a block
  int blocks = 1;               ///< of a cluster, or of a group that exchanges through memory
  bool through_memory = false;  ///< blocks are no cluster: they exchange through memory
  std::vector<CountedNest> nests;
  std::vector<CountedProduct> products;
  /// By nest: find_pairs(), find_loads_without_rows().
  std::vector<std::vector<size_t>> pairs, loads_without_rows;
  bool same_lanes = false;  ///< a lane has the same elements in every nest
  std::vector<bool> meets;  ///< by nest: whether the warps of a block meet at its end
  HeldValues held;          ///< in registers only with same_lanes and one tile of rows of a lane
  /// Only with same_lanes, and in a cluster one tile of rows. A nest with one column counts as one
  /// that has the lanes of the others.
  RowNumbers rows;
  /// Registers of a lane for what it loads of elements while it waits for numbers of rows, and for
  /// what it makes of them: of the nest that has most.
  int registers_of_rows = 0;
  /// By nest: whether its stores to memory, and its loads a step ahead, wait until the next nest
  /// has multiplied and sent its partial sums; then these stand inside the text of the next nest,
  /// which stands inside its own. Only with same_lanes and one tile of rows.
  std::vector<bool> postpones;
  /// The type of rows, columns and strides: `int` where elements of a step are that near each
  /// other, since 64 bits are two registers.
  std::string_view index_type = "int";
  int64_t words = 0;           ///< in all
  int64_t exchange_words = 0;  ///< of memory, for each group of blocks
  double beside_us = 0;        ///< time_beside_products()

  /// Whether any product is one of fused multiply-adds.
  bool uses_fma() const;
  /// Rows of a tile.
  int tile_rows() const { return 8 * rows_of_lane; }
  /// How many steps of a warp's right fragments have room where its left operand and all that
  /// follows will be; at least one.
  int steps_staged(const CountedProduct& product) const;
  /// How often each lane loads a word of the left operand of a product's first step.
  int left_turns(const CountedProduct& product) const;
  /// Cycles in which a block multiplies in a step, with the rows and columns that tiles have beside
  /// its own.
  double cycles_of(const CountedProduct& product, const Gpu& gpu) const;
  /// Bytes that the lanes of a block load from shared memory for a product in a step, or store
  /// there for themselves.
  double loaded_bytes(const CountedProduct& product) const;
  /// The time in which lanes load right fragments and left operands before the first step: they
  /// wait for memory once for all that they load at a time.
  double time_to_fill(const Gpu& gpu) const;
  /// The time of a step beside its products and barriers: exchanges, waits, elements, and loads
  /// that nothing hides.
  double time_beside_products(const LoopNests& loop, const Gpu& gpu) const;
  /// Whether zeros are stored in memory for a strip that no block has, beside what the first step
  /// hands on.
  bool begins_with_zeros() const;
  /// Whether blocks meet before a nest: it multiplies what came by way of memory, and has not met
  /// them for numbers of rows.
  bool meets_before(size_t nest) const;
  /// Whether it multiplies what came by way of memory.
  bool multiplies_from_memory(size_t nest) const;
  /// Whether a nest begins with numbers of rows that a nest before it in the step exchanges. Nests
  /// without elements are a part of the next one.
  bool takes_numbers(size_t nest) const;
  /// Whether it waits for operands, or for such numbers.
  bool waits(size_t nest) const;
  /// Where the counters of an exchange of numbers of rows are in shared memory, in bytes, and what
  /// a block receives.
  int64_t counter_of(const RowExchange& exchange) const;
  int64_t bytes_of(const RowExchange& exchange) const;
  /// How often blocks that are no cluster meet between a nest and the next: before that if it
  /// multiplies, and for the numbers of rows of this one; once for both.
  int meetings_after(size_t nest) const;
  int meetings() const;
  double time_of_row_exchange(const Gpu& gpu) const;
  /// The number of a nest's product among `products`.
  size_t number_of(size_t nest, size_t product) const;
};

/// A counted loop, or why a placement can have none.
struct CountedPlan {
  std::optional<CountedLoop> loop;
  std::string reason;  ///< "the left operand of %matmul is not made by the loop alone"
};

/// Plans the exchange of fragments of a loop placed in clusters or as a grid: the blocks of
/// `placement` own rows and columns, and its shares are set. `invariant` says of each product, over
/// all nests, whether its right operand is the same in every step; `room` is the shared memory of a
/// block in bytes.
CountedPlan plan_counted(const LoopNests& nests, const LoopPlacement& placement,
                         const std::vector<bool>& invariant, int64_t room);

}  // namespace graphc::core::cuda

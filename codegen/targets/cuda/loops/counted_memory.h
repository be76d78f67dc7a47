// SPDX-License-Identifier: Apache-2.0
// What the lanes of a counted loop (counted_loop.h) keep in registers instead of memory, and what
// they may load before the step that needs it.
//
// If all nests have the same rows and columns, a lane has the same elements in each of them. What
// it reads then is either nobody's to write, or its own: what blocks share is exchanged, and an
// access that is affine in the column and joins no two blocks joins no two lanes. Then no barrier
// of the block is needed for memory, a value that a later nest or the next step reads can stay in
// registers, and what no store of the loop changes can be loaded a step ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/targets/cuda/loops/loop_barriers.h"

namespace graphc::core::cuda {

/// A store of a nest whose values stay in registers until another nest or the next step loads them.
/// Instructions are identified by their index in the nest's body.
struct HeldStore {
  size_t nest = 0, store = 0;
  bool in_memory = true;  ///< whether memory gets them too, since something else reads them there
};

/// A load of a nest from such registers, or from registers of its own that are loaded a step ahead.
struct HeldLoad {
  size_t nest = 0, load = 0;
  int from = -1;  ///< the index of the store; -1: a step ahead, from memory
  /// Whether it is the one that loads what the first step finds in these registers from memory.
  bool before_first = false;
};

struct HeldValues {
  std::vector<HeldStore> stores;
  std::vector<HeldLoad> loads;
  /// Other stores whose values nobody reads in memory, by nest and instruction. Products may get
  /// them by exchange.
  std::vector<std::pair<size_t, size_t>> unread;

  /// How many values of an element are in registers.
  int values() const;
  /// Whether a load reads registers.
  bool holds(size_t nest, size_t load) const;
};

/// The loads and stores of a nest's elements that lanes do for two columns at a time, those of a
/// column with an even number and the next one: memory has all of them, aligned. `units_of_block`
/// is the number of columns that a block owns.
std::vector<size_t> find_pairs(const LoopNests& nests, size_t nest, int64_t units_of_block);

/// The loads of a nest's elements that are the same for all rows, of what no nest writes.
std::vector<size_t> find_loads_without_rows(const LoopNests& nests, size_t nest);

/// Finds them for a loop. `exchanges` are those of all of its products, and `is_done` says by nest
/// whether others do all that it does. At most so many values of an element are in registers: none
/// unless a lane has the same elements in every nest and rows are private.
HeldValues find_held_values(const LoopNests& nests, const std::vector<Exchange>& exchanges,
                            const std::vector<bool>& is_done, int most);

}  // namespace graphc::core::cuda

// SPDX-License-Identifier: Apache-2.0
// Placement of buffers in an arena: each at the lowest offset that is free in all its phases.
//
// Phases are the leaves of a binary tree. Each vertex stores the maximum, over the phases of its
// leaves, of the height up to which the arena is full without a gap. No buffer fits below the
// maximum over its phases, so only placed buffers that end above it are examined. In a long plan,
// most buffers that are live together are stacked without gaps, and few have to be examined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace graphc::core {

class Placement {
 public:
  explicit Placement(int phases);

  /// Returns the offset of `size` bytes for phases `first` to `last` and reserves them.
  int64_t place(int first, int last, int64_t size);

  /// Buffers examined so far: a measure of work.
  int64_t looked_at() const { return looked_at_; }

 private:
  using Stretch = std::pair<int64_t, int64_t>;  // end, begin: sorted by end

  struct Vertex {
    int64_t bottom = 0;        ///< the highest gapless height over its phases
    std::set<Stretch> whole;   ///< of buffers that live in all of its phases
    std::set<Stretch> within;  ///< of buffers that live in some of them
  };

  int64_t bottom(size_t vertex, int low, int high, int first, int last);
  void raise(size_t vertex, int low, int high, int first, int last, int64_t from, int64_t to);
  void hand_down(size_t vertex);
  void insert(size_t vertex, int low, int high, int first, int last, const Stretch& stretch);
  void collect(size_t vertex, int low, int high, int first, int last, int64_t above,
               std::vector<Stretch>& taken);
  void collect_above(const std::set<Stretch>& from, int64_t above, std::vector<Stretch>& taken);

  int phases_;
  std::vector<Vertex> vertices_;  // of a binary tree: the children of i are 2 i and 2 i + 1
  int64_t looked_at_ = 0;
};

}  // namespace graphc::core

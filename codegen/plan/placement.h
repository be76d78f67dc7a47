// SPDX-License-Identifier: Apache-2.0
// Where buffers go in an arena: each at the lowest place that is free in all its phases.
//
// Phases are the leaves of a tree. A vertex knows how much is taken from the bottom without a gap
// in the phase of its leaves where that is most: nothing fits below the most of all phases of a
// buffer, so that of what is placed only that which ends above is looked at. In a long plan, most
// of what lives together stands on one another, and that is little.
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

  /// The offset of `size` bytes for phases `first` to `last`; nothing else gets them there.
  int64_t place(int first, int last, int64_t size);

  /// Buffers looked at so far: a measure of work.
  int64_t looked_at() const { return looked_at_; }

 private:
  using Stretch = std::pair<int64_t, int64_t>;  // end, begin: the highest last

  struct Vertex {
    int64_t bottom = 0;        ///< the most that is taken without a gap in one of its phases
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

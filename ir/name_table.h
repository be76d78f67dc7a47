// SPDX-License-Identifier: Apache-2.0
// The values of a graph by name. Passes copy graphs of ten thousand nodes twenty times, and each
// copy looks up every name. So names stay in their nodes, and a miss usually reads one slot.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace graphc::core {

struct Node;
struct Value;

/// A hash table with open addressing and linear probing. It grows at half full.
class NameTable {
 public:
  /// The value with this name, or an absent value.
  Value find(std::string_view name) const;
  bool contains(std::string_view name) const;
  /// Adds a value under its name, whose address must stay stable. Returns false, without adding it,
  /// if the name is taken.
  bool insert(Value value);
  /// Reserves room for this many names.
  void reserve(size_t names);

 private:
  struct Place {
    const Node* node = nullptr;  // null if the slot is free
    uint32_t hash = 0;
    int32_t result = 0;
  };
  static uint32_t hash_of(std::string_view name);
  /// The slot that has the name, or where it would be inserted.
  size_t place_of(std::string_view name, uint32_t hash) const;
  void grow(size_t places);

  std::vector<Place> places_;  // a power of two, or empty
  size_t names_ = 0;
};

}  // namespace graphc::core

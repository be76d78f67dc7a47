// SPDX-License-Identifier: Apache-2.0
// The values of a graph by their names. Passes copy graphs of ten thousand nodes twenty times, and
// each copy looks every name up: so names stay in their nodes, and a lookup that finds nothing
// reads one place.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace graphc::core {

struct Node;
struct Value;

/// A hash table with open addressing, linear from the place of the hash on. It grows at half full.
class NameTable {
 public:
  /// The value with this name, or an absent one.
  Value find(std::string_view name) const;
  bool contains(std::string_view name) const;
  /// Adds a value under its name, which must stay where it is. False, and nothing is added, when
  /// the name is taken.
  bool insert(Value value);
  /// Room for so many names.
  void reserve(size_t names);

 private:
  struct Place {
    const Node* node = nullptr;  // null where there is nothing
    uint32_t hash = 0;
    int32_t result = 0;
  };
  static uint32_t hash_of(std::string_view name);
  /// Where the name is, or where it would be added.
  size_t place_of(std::string_view name, uint32_t hash) const;
  void grow(size_t places);

  std::vector<Place> places_;  // as many as a power of two, or none
  size_t names_ = 0;
};

}  // namespace graphc::core

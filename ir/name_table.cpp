// SPDX-License-Identifier: Apache-2.0
#include "ir/name_table.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "ir/graph.h"

namespace graphc::core {

uint32_t NameTable::hash_of(std::string_view name) {
  return uint32_t(std::hash<std::string_view>()(name));
}

size_t NameTable::place_of(std::string_view name, uint32_t hash) const {
  const size_t mask = places_.size() - 1;
  size_t place = hash & mask;
  for (;; place = (place + 1) & mask) {
    const Place& found = places_[place];
    if (found.node == nullptr) return place;
    if (found.hash == hash && found.node->names[size_t(found.result)] == name) return place;
  }
}

Value NameTable::find(std::string_view name) const {
  if (places_.empty()) return {};
  const Place& found = places_[place_of(name, hash_of(name))];
  return found.node == nullptr ? Value() : found.node->result(found.result);
}

bool NameTable::contains(std::string_view name) const { return bool(find(name)); }

bool NameTable::insert(Value value) {
  if (2 * names_ >= places_.size()) grow(std::max<size_t>(16, 2 * places_.size()));
  const std::string_view name = value.name();
  const uint32_t hash = hash_of(name);
  Place& place = places_[place_of(name, hash)];
  if (place.node != nullptr) return false;
  place = {value.node, hash, value.index};
  ++names_;
  return true;
}

void NameTable::reserve(size_t names) {
  const size_t wanted = std::bit_ceil(2 * names);
  if (wanted > places_.size()) grow(wanted);
}

void NameTable::grow(size_t places) {
  std::vector<Place> before(places);
  before.swap(places_);
  for (const Place& old : before) {
    if (old.node == nullptr) continue;
    // All names differ, so the first free slot is the right one.
    size_t place = old.hash & (places - 1);
    while (places_[place].node != nullptr) place = (place + 1) & (places - 1);
    places_[place] = old;
  }
}

}  // namespace graphc::core

// SPDX-License-Identifier: Apache-2.0
// Which records of a step have to wait for which: where one accesses bytes that another writes.
#pragma once

#include <bit>
#include <span>
#include <vector>

#include "codegen/step/footprint.h"

namespace graphc::core {

/// Numbers 0 .. size-1, of which some are in the set.
class BitSet {
 public:
  explicit BitSet(size_t size = 0) : words_((size + 63) / 64) {}

  void add(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  bool has(size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  /// Whether those of its numbers that `some` has are in `other`.
  bool is_within(const BitSet& other, const BitSet& some) const;
  BitSet& operator|=(const BitSet& other);
  /// Whether `holds` is true of all its numbers that `some` has.
  template <typename Holds>
  bool all_of(const BitSet& some, const Holds& holds) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t rest = words_[word] & some.words_[word]; rest != 0; rest &= rest - 1) {
        if (!holds(word * 64 + size_t(std::countr_zero(rest)))) return false;
      }
    }
    return true;
  }
  /// Calls `visit` for each number in the set, ascending.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t rest = words_[word]; rest != 0; rest &= rest - 1)
        visit(word * 64 + size_t(std::countr_zero(rest)));
    }
  }

 private:
  std::vector<uint64_t> words_;
};

/// For each of a list of records, by their memory accesses, the earlier ones that it conflicts
/// with. It reaches through them all others that it has to wait for. A record without accesses is
/// one of which nothing is known: it waits for all before it, and all after it wait for it.
std::vector<std::vector<int>> dependencies(std::span<const std::vector<MemoryAccess>> accesses);

/// Leaves in each list what is not reached through another one. Returns for each record all that it
/// has to wait for.
std::vector<BitSet> transitive_reduction(std::vector<std::vector<int>>& before);

}  // namespace graphc::core

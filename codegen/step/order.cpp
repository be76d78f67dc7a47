// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/order.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

namespace graphc::core {
namespace {

/// The bytes of a memory in stretches, with the last writer of each and its readers since.
class History {
 public:
  /// Adds to `before` what record `now` has to wait for.
  void add(const MemoryAccess& access, int now, std::vector<int>& before) {
    cut(access.bytes.begin);
    cut(access.bytes.end);
    fill(access.bytes);
    const auto begin = stretches_.find(access.bytes.begin);
    const auto end = stretches_.lower_bound(access.bytes.end);
    for (auto each = begin; each != end; ++each) {
      Stretch& stretch = each->second;
      if (stretch.writer >= 0 && stretch.writer != now) before.push_back(stretch.writer);
      if (!access.writes) {
        if (stretch.readers.empty() || stretch.readers.back() != now)
          stretch.readers.push_back(now);
        continue;
      }
      for (const int reader : stretch.readers) {
        if (reader != now) before.push_back(reader);
      }
    }
    if (!access.writes) return;
    stretches_.erase(begin, end);
    stretches_[access.bytes.begin] = {access.bytes.end, now, {}};
  }

 private:
  struct Stretch {
    int64_t end = 0;
    int writer = -1;
    std::vector<int> readers;
  };

  /// Makes a stretch that has this byte inside two.
  void cut(int64_t at) {
    auto found = stretches_.lower_bound(at);
    if (found == stretches_.begin()) return;
    Stretch& before = std::prev(found)->second;
    if (before.end <= at) return;
    Stretch rest = before;
    before.end = at;
    stretches_[at] = std::move(rest);
  }

  /// Makes stretches of bytes without an access so far.
  void fill(const Extent& bytes) {
    int64_t at = bytes.begin;
    while (at < bytes.end) {
      const auto found = stretches_.lower_bound(at);
      const int64_t next =
          found == stretches_.end() ? bytes.end : std::min(found->first, bytes.end);
      if (next > at) stretches_[at] = {next, -1, {}};
      at = found == stretches_.end() ? bytes.end : std::max(next, found->second.end);
    }
  }

  std::map<int64_t, Stretch> stretches_;
};

}  // namespace

bool BitSet::is_within(const BitSet& other, const BitSet& some) const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & some.words_[i] & ~other.words_[i]) != 0) return false;
  }
  return true;
}

BitSet& BitSet::operator|=(const BitSet& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

std::vector<std::vector<int>> dependencies(std::span<const std::vector<MemoryAccess>> accesses) {
  std::vector<std::vector<int>> all(accesses.size());
  std::map<int, History> memories;
  int last_of_all = -1;  // the last record of which nothing is known
  for (size_t i = 0; i < accesses.size(); ++i) {
    std::vector<int>& before = all[i];
    if (last_of_all >= 0) before.push_back(last_of_all);
    if (accesses[i].empty()) {
      for (int each = last_of_all + 1; each < int(i); ++each) before.push_back(each);
      last_of_all = int(i);
      memories.clear();
    }
    // What it reads first: its own writes are no reason to wait.
    for (const bool writes : {false, true}) {
      for (const MemoryAccess& each : accesses[i]) {
        if (each.writes == writes) memories[each.memory].add(each, int(i), before);
      }
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
  return all;
}

std::vector<BitSet> transitive_reduction(std::vector<std::vector<int>>& before) {
  std::vector<BitSet> reached(before.size(), BitSet(before.size()));
  for (size_t i = 0; i < before.size(); ++i) {
    std::vector<int> kept;
    std::ranges::sort(before[i], std::ranges::greater{});
    // What is reached through another record has a smaller number.
    for (const int each : before[i]) {
      if (reached[i].has(size_t(each))) continue;
      kept.push_back(each);
      reached[i].add(size_t(each));
      reached[i] |= reached[size_t(each)];
    }
    std::ranges::reverse(kept);
    before[i] = std::move(kept);
  }
  return reached;
}

}  // namespace graphc::core

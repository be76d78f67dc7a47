// SPDX-License-Identifier: Apache-2.0
#include "codegen/cuda/order.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>

namespace graphc::core::cuda {
namespace {

/// The bytes of a memory in stretches, with who wrote each last and who has read it since.
class History {
 public:
  /// Adds to `before` whom launch `now` has to wait for.
  void touch(const Touched& touched, int now, std::vector<int>& before) {
    cut(touched.bytes.begin);
    cut(touched.bytes.end);
    fill(touched.bytes);
    const auto begin = stretches_.find(touched.bytes.begin);
    const auto end = stretches_.lower_bound(touched.bytes.end);
    for (auto each = begin; each != end; ++each) {
      Stretch& stretch = each->second;
      if (stretch.writer >= 0 && stretch.writer != now) before.push_back(stretch.writer);
      if (!touched.writes) {
        if (stretch.readers.empty() || stretch.readers.back() != now)
          stretch.readers.push_back(now);
        continue;
      }
      for (const int reader : stretch.readers) {
        if (reader != now) before.push_back(reader);
      }
    }
    if (!touched.writes) return;
    stretches_.erase(begin, end);
    stretches_[touched.bytes.begin] = {touched.bytes.end, now, {}};
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

  /// Makes stretches of what nobody has touched.
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

std::vector<std::vector<int>> conflicts(std::span<const std::vector<Touched>> touched) {
  std::vector<std::vector<int>> all(touched.size());
  std::map<int, History> memories;
  int last_of_all = -1;  // who says nothing of what it touches
  for (size_t i = 0; i < touched.size(); ++i) {
    std::vector<int>& before = all[i];
    if (last_of_all >= 0) before.push_back(last_of_all);
    if (touched[i].empty()) {
      for (int each = last_of_all + 1; each < int(i); ++each) before.push_back(each);
      last_of_all = int(i);
      memories.clear();
    }
    // What it reads first: its own writes are no reason to wait.
    for (const bool writes : {false, true}) {
      for (const Touched& each : touched[i]) {
        if (each.writes == writes) memories[each.space].touch(each, int(i), before);
      }
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
  return all;
}

std::vector<BitSet> reduce(std::vector<std::vector<int>>& before) {
  std::vector<BitSet> reached(before.size(), BitSet(before.size()));
  for (size_t i = 0; i < before.size(); ++i) {
    std::vector<int> kept;
    std::ranges::sort(before[i], std::ranges::greater{});
    // Whoever is reached through another one has a smaller number.
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

}  // namespace graphc::core::cuda

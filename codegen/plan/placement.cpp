// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/placement.h"

#include <algorithm>
#include <bit>

namespace graphc::core {

Placement::Placement(int phases)
    : phases_(int(std::bit_ceil(unsigned(std::max(1, phases))))),
      vertices_(size_t(2) * size_t(phases_)) {}

int64_t Placement::place(int first, int last, int64_t size) {
  const int64_t lowest = bottom(1, 0, phases_, first, last);
  std::vector<Stretch> taken;
  collect(1, 0, phases_, first, last, lowest, taken);
  // Sorted by their beginning.
  for (Stretch& stretch : taken) std::swap(stretch.first, stretch.second);
  std::sort(taken.begin(), taken.end());
  int64_t offset = lowest;
  for (const auto& [begin, end] : taken) {
    if (begin - offset >= size) break;
    offset = std::max(offset, end);
  }
  insert(1, 0, phases_, first, last, {offset + size, offset});
  // Where the phase was full up to this offset, it is now full up to the end; elsewhere a gap
  // remains below.
  if (offset == lowest) raise(1, 0, phases_, first, last, lowest, offset + size);
  return offset;
}

int64_t Placement::bottom(size_t vertex, int low, int high, int first, int last) {
  if (last < low || high <= first) return 0;
  if (first <= low && high - 1 <= last) return vertices_[vertex].bottom;
  hand_down(vertex);
  const int middle = low + (high - low) / 2;
  return std::max(bottom(2 * vertex, low, middle, first, last),
                  bottom(2 * vertex + 1, middle, high, first, last));
}

void Placement::raise(size_t vertex, int low, int high, int first, int last, int64_t from,
                      int64_t to) {
  if (last < low || high <= first || vertices_[vertex].bottom < from) return;
  if (first <= low && high - 1 <= last) {
    vertices_[vertex].bottom = to;
    return;
  }
  hand_down(vertex);
  const int middle = low + (high - low) / 2;
  raise(2 * vertex, low, middle, first, last, from, to);
  raise(2 * vertex + 1, middle, high, first, last, from, to);
  vertices_[vertex].bottom =
      std::max(vertices_[2 * vertex].bottom, vertices_[2 * vertex + 1].bottom);
}

/// Propagates a raise of the whole vertex to its children: those with the highest bottom are raised
/// to the vertex's.
void Placement::hand_down(size_t vertex) {
  Vertex &left = vertices_[2 * vertex], &right = vertices_[2 * vertex + 1];
  const int64_t most = std::max(left.bottom, right.bottom), now = vertices_[vertex].bottom;
  if (left.bottom == most) left.bottom = now;
  if (right.bottom == most) right.bottom = now;
}

void Placement::insert(size_t vertex, int low, int high, int first, int last,
                       const Stretch& stretch) {
  if (last < low || high <= first) return;
  if (first <= low && high - 1 <= last) {
    vertices_[vertex].whole.insert(stretch);
    return;
  }
  vertices_[vertex].within.insert(stretch);
  const int middle = low + (high - low) / 2;
  insert(2 * vertex, low, middle, first, last, stretch);
  insert(2 * vertex + 1, middle, high, first, last, stretch);
}

void Placement::collect(size_t vertex, int low, int high, int first, int last, int64_t above,
                        std::vector<Stretch>& taken) {
  if (last < low || high <= first) return;
  collect_above(vertices_[vertex].whole, above, taken);
  if (first <= low && high - 1 <= last) {
    collect_above(vertices_[vertex].within, above, taken);
    return;
  }
  const int middle = low + (high - low) / 2;
  collect(2 * vertex, low, middle, first, last, above, taken);
  collect(2 * vertex + 1, middle, high, first, last, above, taken);
}

void Placement::collect_above(const std::set<Stretch>& from, int64_t above,
                              std::vector<Stretch>& taken) {
  for (auto stretch = from.rbegin(); stretch != from.rend() && stretch->first > above; ++stretch) {
    taken.push_back(*stretch);
    ++looked_at_;
  }
}

}  // namespace graphc::core

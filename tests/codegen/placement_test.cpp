// SPDX-License-Identifier: Apache-2.0
#include "codegen/plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace graphc::core {
namespace {

struct Placed {
  int first, last;
  int64_t offset, size;
};

/// The lowest free place by looking at everything that is placed.
int64_t lowest(const std::vector<Placed>& placed, int first, int last, int64_t size) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const Placed& other : placed) {
    if (other.first <= last && first <= other.last)
      taken.emplace_back(other.offset, other.offset + other.size);
  }
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (begin - offset >= size) break;
    offset = std::max(offset, end);
  }
  return offset;
}

TEST(Placement, IsTheLowestFreePlace) {
  for (int seed = 0; seed < 50; ++seed) {
    std::mt19937 random{static_cast<unsigned>(seed)};
    const int phases = 1 + int(random() % 70);
    Placement placement(phases);
    std::vector<Placed> placed;
    for (int i = 0; i < 120; ++i) {
      const int first = int(random() % unsigned(phases));
      const int last = std::min(phases - 1, first + int(random() % 20));
      const int64_t size = 64 * (1 + int64_t(random() % 9));
      const int64_t wanted = lowest(placed, first, last, size);
      ASSERT_EQ(placement.place(first, last, size), wanted) << "seed " << seed << ", " << i;
      placed.push_back({first, last, wanted, size});
    }
  }
}

/// Values of a forward pass that live until their step of the backward pass, and one that lives for
/// each step.
int64_t looked_at(int steps) {
  Placement placement(2 * steps);
  for (int i = 0; i < steps; ++i) placement.place(i, 2 * steps - 1 - i, 256);
  for (int i = 0; i < 2 * steps; ++i) placement.place(i, i, 128);
  return placement.looked_at() + steps;
}

TEST(Placement, LooksAtFewOfWhatIsPlaced) {
  EXPECT_LE(looked_at(2000), 2.3 * double(looked_at(1000)));
}

}  // namespace
}  // namespace graphc::core

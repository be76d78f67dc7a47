// SPDX-License-Identifier: Apache-2.0
// The table of all ops, and how to find one by name.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ir/op.h"

namespace graphc {
namespace {

constexpr const Op* table[] = {
#define GRAPHC_OP(name) &ops::name,
#include "ir/ops.def"
#undef GRAPHC_OP
};

}  // namespace

std::span<const Op* const> all_ops() { return table; }

const Op* find_op(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const Op*> by_name;
    for (const Op* op : table) by_name.emplace(op->name, op);
    return by_name;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::string_view nearest_op(std::string_view name) {
  const auto distance = [&](std::string_view other) {
    std::vector<size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < name.size(); ++i) {
      size_t diagonal = row[0]++;
      for (size_t j = 0; j < other.size(); ++j) {
        const size_t substitution = diagonal + (name[i] != other[j]);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substitution, row[j] + 1, diagonal + 1});
      }
    }
    return row.back();
  };
  std::string_view best;
  size_t best_distance = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const Op* op : table) {
    if (const size_t d = distance(op->name); d < best_distance) {
      best = op->name;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace graphc

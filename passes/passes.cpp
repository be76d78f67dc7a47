// SPDX-License-Identifier: Apache-2.0
#include "passes/passes.h"

#include <algorithm>
#include <numeric>

namespace graphc {
namespace {

constexpr const Pass* table[] = {
    &passes::autodiff,     &passes::cse,      &passes::expand, &passes::hoist,
    &passes::pack_matmuls, &passes::simplify, &passes::unroll,
};

/// Insertions, deletions and replacements that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const Pass* const> all_passes() { return table; }

const Pass& find_pass(std::string_view name) {
  const Pass* nearest = nullptr;
  size_t least = 4;  // a word four edits away is another word
  for (const Pass* pass : table) {
    if (pass->name == name) return *pass;
    const size_t distance = edit_distance(name, pass->name);
    if (distance < least) {
      least = distance;
      nearest = pass;
    }
  }
  throw Error(ErrorKind::usage, {},
              nearest == nullptr
                  ? fmt::format("there is no pass '{}'", name)
                  : fmt::format("there is no pass '{}'; did you mean '{}'?", name, nearest->name));
}

}  // namespace graphc

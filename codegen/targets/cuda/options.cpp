// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "ir/error.h"

namespace graphc::core::cuda {
namespace {

/// The index of `word` in `words`, the values of the option `--what`.
size_t index_of(std::string_view what, std::span<const std::string_view> words,
                std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return size_t(found - words.begin());
  throw Error(
      ErrorKind::usage, {},
      fmt::format("--{}: unknown {} '{}': there is {}", what, what, word, fmt::join(words, ", ")));
}

static_assert(kPlacementWords.size() == size_t(Placement::launches) + 2);
static_assert(kProductsWords.size() == size_t(Products::cublaslt) + 1);

}  // namespace

std::string_view name_of(std::optional<Placement> placement) {
  return kPlacementWords[placement ? size_t(*placement) + 1 : 0];
}

std::optional<Placement> placement_named(std::string_view word) {
  const size_t index = index_of("placement", kPlacementWords, word);
  if (index == 0) return std::nullopt;
  return Placement(index - 1);
}

std::string_view name_of(Products products) { return kProductsWords[size_t(products)]; }

Products products_named(std::string_view word) {
  return Products(index_of("products", kProductsWords, word));
}

}  // namespace graphc::core::cuda
